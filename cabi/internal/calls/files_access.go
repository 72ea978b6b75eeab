package calls

import (
	"strings"

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

// isRead reports whether a function reads.
func isRead(id procedure.ID) bool { return strings.Contains(id.String(), "read") }

func init() {
	for id, io := range map[procedure.ID]transfer{
		procedure.FileRead: mpi.FileRead[byte], procedure.FileWrite: mpi.FileWrite[byte],
		procedure.FileReadAll: mpi.FileReadAll[byte], procedure.FileWriteAll: mpi.FileWriteAll[byte],
		procedure.FileReadShared: mpi.FileReadShared[byte], procedure.FileWriteShared: mpi.FileWriteShared[byte],
		procedure.FileReadOrdered: mpi.FileReadOrdered[byte], procedure.FileWriteOrdered: mpi.FileWriteOrdered[byte],
	} {
		register(id, func(c *call) error {
			m := c.moved(c.file(0), 1, isRead(id))
			st, err := m.end(io(m.on, m.bytes))
			c.setStatus(4, st)
			return err
		})
	}
	for id, io := range map[procedure.ID]transferAt{
		procedure.FileReadAt: mpi.FileReadAt[byte], procedure.FileWriteAt: mpi.FileWriteAt[byte],
		procedure.FileReadAtAll: mpi.FileReadAtAll[byte], procedure.FileWriteAtAll: mpi.FileWriteAtAll[byte],
	} {
		register(id, func(c *call) error {
			m := c.moved(c.file(0), 2, isRead(id))
			st, err := m.end(io(m.on, c.int(1), m.bytes))
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
			m := c.moved(c.file(0), 1, isRead(id))
			return c.startedAs(4, request{r: io(m.on, m.bytes), on: c.on, ends: m.once()})
		})
	}
	for id, io := range map[procedure.ID]startTransferAt{
		procedure.FileIreadAt: mpi.FileIreadAt[byte], procedure.FileIwriteAt: mpi.FileIwriteAt[byte],
		procedure.FileIreadAtAll: mpi.FileIreadAtAll[byte], procedure.FileIwriteAtAll: mpi.FileIwriteAtAll[byte],
	} {
		register(id, func(c *call) error {
			m := c.moved(c.file(0), 2, isRead(id))
			return c.startedAs(5, request{r: io(m.on, c.int(1), m.bytes), on: c.on, ends: m.once()})
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
			f.split = c.moved(f, 1, isRead(ids[0]))
			return io.begin(f.split.on, f.split.bytes)
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
			f.split = c.moved(f, 2, isRead(ids[0]))
			return io.begin(f.split.on, c.int(1), f.split.bytes)
		})
		register(ids[1], func(c *call) error { return c.endSplit(io.end) })
	}
}

func (c *call) endSplit(end transfer) error {
	f := c.file(0)
	if f.split.on == nil {
		return failf(abi.ErrOther, "no split collective has begun on the file")
	}
	st, err := f.split.end(end(f.split.on, f.split.bytes))
	if err == nil {
		f.split = moved{}
	}
	c.setStatus(2, st)
	return err
}
