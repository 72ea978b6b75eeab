package engine

import (
	"errors"
	"fmt"

	"github.com/fitmpi/fitmpi/engine/internal/core"
	"github.com/fitmpi/fitmpi/internal/shm"
)

const (
	// fetchMax is the most that a thread fetches between two looks at the sockets and rings, and
	// the most that any caller fetches in the place of a receive.
	fetchMax = 256 << 10
	// readAlone is the most that the kernel is asked for between two such looks, readTurn the same
	// where several payloads take turns, or are read together: a call takes a quarter of a
	// microsecond before it copies anything. Where it copies as fast as CopyAuto wants they take 50
	// us and half of that.
	readAlone, readTurn = 1 << 20, 512 << 10
)

// FetchPart implements core.Local. A thread fetches little at a time, so that its sender may copy
// some parts. A call of the kernel costs as much as the copy of several KiB, so there is one for a
// message, if that does not take too long.
func (l *lane) FetchPart(total int, alone bool) int {
	switch {
	case l.thread == nil && alone:
		return readAlone
	case l.thread == nil:
		return readTurn
	}
	return min(max(total/8&^(sharePart-1), sharePart), fetchMax)
}

// FetchTogether implements core.Local.
func (l *lane) FetchTogether() int {
	if l.thread != nil {
		return 0
	}
	return readTurn
}

// Fetch implements core.Local.
func (l *lane) Fetch(fs []core.Fetch) {
	if l.thread == nil {
		l.read(fs)
		return
	}
	for i := range fs {
		f := &fs[i]
		f.Err = l.thread.local.offers.fetch(f.ID, f.Dst, f.Off, f.N)
	}
}

// read is Fetch from another process: the kernel copies.
func (l *lane) read(fs []core.Fetch) {
	parts := l.n.parts[:0]
	for i := range fs {
		f := &fs[i]
		w, err := beginFetch(&l.block.Offers, f.ID)
		if f.Err = err; err != nil {
			continue
		}
		if size := w.Len.Load(); uint64(f.Off)+uint64(f.N) > size {
			endFetch(w, f.ID)
			f.Err = fmt.Errorf("%w: %d bytes at %d of a payload of %d", shm.ErrCorrupt, f.N, f.Off, size)
			continue
		}
		parts = append(parts, shm.Part{Dst: f.Dst[f.Off : f.Off+f.N], Addr: w.Addr.Load() + uint64(f.Off)})
	}
	shm.ReadParts(int(l.block.PID.Load()), parts)
	k := 0
	for i := range fs {
		if f := &fs[i]; f.Err == nil {
			f.Err = parts[k].Err
			if endFetch(&l.block.Offers[uint32(f.ID)], f.ID) {
				f.Err = core.ErrMoving
			}
			k++
		}
	}
	clear(parts) // they are the users'
}

// EndFetch implements core.Local.
func (l *lane) EndFetch(id uint64) {
	if l.thread != nil {
		l.thread.local.offers.endFetch(id)
	}
}

// fetchAll fetches the payload of the peer's message id.
func (l *lane) fetchAll(id uint64, dst []byte) bool {
	part := l.FetchPart(len(dst), true)
	for off := 0; off < len(dst); off += part {
		f := [1]core.Fetch{{ID: id, Dst: dst, Off: off, N: min(part, len(dst)-off)}}
		l.Fetch(f[:])
		if errors.Is(f[0].Err, core.ErrShared) {
			return true
		}
		if f[0].Err != nil {
			l.EndFetch(id)
			return false
		}
	}
	return true
}
