package calls

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/fitmpi/fitmpi/mpi"
)

// What both halves read and write: as in fitmpi.h.
const (
	chunk  = 1024 // requests that are mapped at a time
	chunks = 4096

	requestFree    = 0
	requestPending = 1
	requestDone    = 2
	requestAlone   = 3 // pending, and the library makes progress without calls

	sentPlace = 0 // of a request that is always done: see setSent

	noRequest = 1<<32 - 1 // ends the list of free ones
)

// status is a status in the memory of C. bytes are the first two of the five ints that are the
// library's own.
type status struct {
	source, tag, code int32
	bytes             [2]uint32
	cancelled         int32
	_                 [2]int32
}

// slot is a request in the memory of C.
type slot struct {
	state  atomic.Int32
	next   int32
	status status
	tested [2]uint64 // the C half's
	_      [8]byte
}

// A slot is as long as in C: neither number is negative.
const (
	_ = 64 - unsafe.Sizeof(slot{})
	_ = unsafe.Sizeof(slot{}) - 64
)

// sharedMemory is struct fit_shared.
type sharedMemory struct {
	slab  [chunks]atomic.Pointer[[chunk]slot]
	free  atomic.Uint64
	world atomic.Int32
}

var shared *sharedMemory

func (s *sharedMemory) state() *atomic.Int32 { return &s.world }

// Attach is called once, as the library is loaded, with the memory that both halves share.
//
// A thread that returns to the program keeps its P for a while. The runtime gets one more for it:
// where none is idle its monitor takes that P back 40 us after each call, which keeps it polling.
func Attach(memory unsafe.Pointer) {
	shared = (*sharedMemory)(memory)
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
}

// slot is the request at a place, or nil.
func (s *sharedMemory) slot(i int) *slot {
	if i < 0 || i >= chunk*chunks {
		return nil
	}
	c := s.slab[i/chunk].Load()
	if c == nil {
		return nil
	}
	return &c[i%chunk]
}

// take takes a free request, or reports that there is none.
func (s *sharedMemory) take() (int, bool) {
	for {
		head := s.free.Load()
		i := int(uint32(head))
		if i == noRequest {
			return 0, false
		}
		// Another thread may take it now, and it may be free again: then the count has changed.
		next := uint64(uint32(s.slot(i).next))
		if s.free.CompareAndSwap(head, (head>>32+1)<<32|next) {
			return i, true
		}
	}
}

// give puts a request back.
func (s *sharedMemory) give(i int) {
	r := s.slot(i)
	r.state.Store(requestFree)
	for {
		head := s.free.Load()
		r.next = int32(uint32(head))
		if s.free.CompareAndSwap(head, (head>>32+1)<<32|uint64(uint32(i))) {
			return
		}
	}
}

// grow maps one chunk more, which is number n. It is memory of the system's: the C half reads it.
func (s *sharedMemory) grow(n int) {
	if n >= chunks {
		panic(failf(16, "%d requests are active: complete some", chunk*chunks))
	}
	size := int(unsafe.Sizeof([chunk]slot{}))
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		panic(failf(39, "memory for requests: %v", err))
	}
	slots, first := (*[chunk]slot)(unsafe.Pointer(unsafe.SliceData(b))), 0
	if n == 0 {
		first = sentPlace + 1
		slots[sentPlace].status.set(emptyStatus)
		slots[sentPlace].state.Store(requestDone)
	}
	s.slab[n].Store(slots)
	for i := chunk - 1; i >= first; i-- {
		s.give(n*chunk + i)
	}
}

// set writes what a status says, but for its error.
func (s *status) set(st mpi.Status) {
	n := max(st.GetCount(byteType), 0)
	s.source, s.tag = int32(st.Source), int32(st.Tag)
	s.setBytes(n)
	s.cancelled = 0
	if st.Cancelled {
		s.cancelled = 1
	}
}

// copy is all of another status but for its error; s may be nil.
func (s *status) copy(from *status) {
	if s != nil {
		code := s.code
		*s = *from
		s.code = code
	}
}

func (s *status) setBytes(n int) { s.bytes = [2]uint32{uint32(n), uint32(uint64(n) >> 32)} }

func (s *status) count() int { return int(uint64(s.bytes[0]) | uint64(s.bytes[1])<<32) }

// byteType is a byte, by which the bytes of a message are counted.
var byteType = mpi.TypeOf[byte]()

func threadID() int { return syscall.Gettid() }
