package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// Functions of package mpi that read or write a buffer, at a file pointer or at an offset, at once
// or by a request.
type (
	transfer        func(f *mpi.File, buf []byte) (mpi.Status, error)
	transferAt      func(f *mpi.File, offset int, buf []byte) (mpi.Status, error)
	startTransfer   func(f *mpi.File, buf []byte) *mpi.Request
	startTransferAt func(f *mpi.File, offset int, buf []byte) *mpi.Request
	beginTransfer   func(f *mpi.File, buf []byte) error
	beginTransferAt func(f *mpi.File, offset int, buf []byte) error
)

// fileBuffer is the buffer of arguments i to i+2, always with its datatype: a file may have another
// representation of the values than memory has.
func (c *call) fileBuffer(f *file, i int) (on *mpi.File, b buffer) {
	d, count := c.datatype(i+2), c.count(i+1)
	if !d.committed.Load() {
		panic(failf(abi.ErrType, "the datatype is not committed: call MPI_Type_commit first"))
	}
	b = c.layout(c.args[i], d.lay(count))
	return f.WithType(b.t), b
}

func init() {
	for id, io := range map[procedure.ID]transfer{
		procedure.FileRead: mpi.FileRead[byte], procedure.FileWrite: mpi.FileWrite[byte],
		procedure.FileReadAll: mpi.FileReadAll[byte], procedure.FileWriteAll: mpi.FileWriteAll[byte],
		procedure.FileReadShared: mpi.FileReadShared[byte], procedure.FileWriteShared: mpi.FileWriteShared[byte],
		procedure.FileReadOrdered: mpi.FileReadOrdered[byte], procedure.FileWriteOrdered: mpi.FileWriteOrdered[byte],
	} {
		register(id, func(c *call) error {
			on, b := c.fileBuffer(c.file(0), 1)
			st, err := io(on, b.bytes())
			c.setStatus(4, st)
			return err
		})
	}
	for id, io := range map[procedure.ID]transferAt{
		procedure.FileReadAt: mpi.FileReadAt[byte], procedure.FileWriteAt: mpi.FileWriteAt[byte],
		procedure.FileReadAtAll: mpi.FileReadAtAll[byte], procedure.FileWriteAtAll: mpi.FileWriteAtAll[byte],
	} {
		register(id, func(c *call) error {
			on, b := c.fileBuffer(c.file(0), 2)
			st, err := io(on, c.int(1), b.bytes())
			c.setStatus(5, st)
			return err
		})
	}
	for id, io := range map[procedure.ID]startTransfer{
		procedure.FileIread: mpi.FileIread[byte], procedure.FileIwrite: mpi.FileIwrite[byte],
		procedure.FileIreadAll: mpi.FileIreadAll[byte], procedure.FileIwriteAll: mpi.FileIwriteAll[byte],
		procedure.FileIreadShared: mpi.FileIreadShared[byte], procedure.FileIwriteShared: mpi.FileIwriteShared[byte],
	} {
		register(id, func(c *call) error {
			on, b := c.fileBuffer(c.file(0), 1)
			return c.started(4, io(on, b.bytes()))
		})
	}
	for id, io := range map[procedure.ID]startTransferAt{
		procedure.FileIreadAt: mpi.FileIreadAt[byte], procedure.FileIwriteAt: mpi.FileIwriteAt[byte],
		procedure.FileIreadAtAll: mpi.FileIreadAtAll[byte], procedure.FileIwriteAtAll: mpi.FileIwriteAtAll[byte],
	} {
		register(id, func(c *call) error {
			on, b := c.fileBuffer(c.file(0), 2)
			return c.started(5, io(on, c.int(1), b.bytes()))
		})
	}
	splitAccess()
}

// splitAccess registers the collectives in two calls. The second has the address of the buffer
// alone, so the file keeps what the first was given.
func splitAccess() {
	for ids, io := range map[[2]procedure.ID]struct {
		begin beginTransfer
		end   transfer
	}{
		{procedure.FileReadAllBegin, procedure.FileReadAllEnd}:           {mpi.FileReadAllBegin[byte], mpi.FileReadAllEnd[byte]},
		{procedure.FileWriteAllBegin, procedure.FileWriteAllEnd}:         {mpi.FileWriteAllBegin[byte], mpi.FileWriteAllEnd[byte]},
		{procedure.FileReadOrderedBegin, procedure.FileReadOrderedEnd}:   {mpi.FileReadOrderedBegin[byte], mpi.FileReadOrderedEnd[byte]},
		{procedure.FileWriteOrderedBegin, procedure.FileWriteOrderedEnd}: {mpi.FileWriteOrderedBegin[byte], mpi.FileWriteOrderedEnd[byte]},
	} {
		register(ids[0], func(c *call) error {
			f := c.file(0)
			f.on, f.split = c.fileBuffer(f, 1)
			return io.begin(f.on, f.split.bytes())
		})
		register(ids[1], func(c *call) error { return c.endSplit(io.end) })
	}
	for ids, io := range map[[2]procedure.ID]struct {
		begin beginTransferAt
		end   transfer
	}{
		{procedure.FileReadAtAllBegin, procedure.FileReadAtAllEnd}:   {mpi.FileReadAtAllBegin[byte], mpi.FileReadAtAllEnd[byte]},
		{procedure.FileWriteAtAllBegin, procedure.FileWriteAtAllEnd}: {mpi.FileWriteAtAllBegin[byte], mpi.FileWriteAtAllEnd[byte]},
	} {
		register(ids[0], func(c *call) error {
			f := c.file(0)
			f.on, f.split = c.fileBuffer(f, 2)
			return io.begin(f.on, c.int(1), f.split.bytes())
		})
		register(ids[1], func(c *call) error { return c.endSplit(io.end) })
	}
}

func (c *call) endSplit(end transfer) error {
	f := c.file(0)
	if f.on == nil {
		return failf(abi.ErrOther, "no split collective has begun on the file")
	}
	st, err := end(f.on, f.split.bytes())
	if err == nil {
		f.on, f.split = nil, buffer{}
	}
	c.setStatus(2, st)
	return err
}
