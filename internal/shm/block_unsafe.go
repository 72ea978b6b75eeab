package shm

import "unsafe"

const blockSize = 4*apart + NumOffers*lineSize

var (
	_ [blockSize - unsafe.Sizeof(Block{})]byte
	_ [unsafe.Sizeof(Block{}) - blockSize]byte
	_ [lineSize - unsafe.Sizeof(Offer{})]byte
	_ [unsafe.Sizeof(Offer{}) - lineSize]byte
	_ [0 - unsafe.Offsetof(Block{}.Offers)%lineSize]byte
)

// NewBlock is a Block in Go memory, on lines of its own.
func NewBlock() *Block { return blockAt(Alloc(blockSize)) }

// blockAt is the block at the beginning of mem. Preconditions: len(mem) >= blockSize, and mem is
// aligned.
func blockAt(mem []byte) *Block { return (*Block)(unsafe.Pointer(&mem[:blockSize][0])) }
