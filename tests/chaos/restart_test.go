//go:build linux

package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/fitmpi/fitmpi/mpi"
)

// life is that of a rank in one attempt of a job that is started again: epochs from the one that
// its checkpoint is of. What a checkpoint must contain follows from its version, so a rank sees at
// once whether it is another's, an older one, or torn.
type life struct {
	o     *orders
	x     *exchange
	p     *phone
	rank  int
	store *mpi.FileCheckpoint
	end   report
}

const (
	saveEvery = 2       // epochs
	smallSave = 2 << 10 // bytes of a rank's part of a checkpoint
	largeSave = 2 << 20 // the same where the disk has no room for it
	storeRoom = 1 << 20 // bytes of that disk
	pretended = 1 << 40 // a version that no job reaches
)

// run goes on from the newest checkpoint until the harness wants the end.
func (l *life) run(world *mpi.Comm) (report, error) {
	l.rank, l.store = world.Rank(), &mpi.FileCheckpoint{}
	first, _, err := l.store.Load(world, l.read)
	if err != nil {
		return l.end, err
	}
	l.end.Restarts = world.Restarts()
	l.p.say(report{Loaded: &loaded{Attempt: l.end.Restarts, Version: first}})
	cs, err := newComms(world)
	for epoch, over := int(first), false; err == nil && !over; epoch++ {
		if err = l.x.epoch(cs, epoch); err != nil {
			break
		}
		if l.end.Epochs++; l.end.Epochs == 1 {
			l.p.say(report{Running: true})
		}
		if l.end.Epochs%saveEvery == 0 {
			err = l.save(world, int64(epoch+1))
		}
		if err == nil {
			over, err = cs.isOver(l.p.stop.Load())
		}
	}
	if err == nil {
		_, err = world.DetachJobBuffer()
	}
	if err == nil {
		err = l.store.Clear(world)
	}
	return l.end, err
}

// save saves a version, and tells the harness when it is there for good. On a disk that is full the
// rank goes on without.
func (l *life) save(world *mpi.Comm, version int64) error {
	err := l.store.Save(world, version, func(w io.Writer) error {
		b := l.state(version)
		if l.x.bug == "spoil" { // the harness must notice
			b[len(b)/2] ^= 1
		}
		_, err := w.Write(b)
		return err
	})
	switch {
	case err == nil:
		l.p.say(report{Saved: version})
		return nil
	case errors.Is(err, mpi.ErrNoSpace) && l.x.bug == "pretend": // the harness must notice
		l.p.say(report{Saved: pretended})
		return nil
	case errors.Is(err, mpi.ErrNoSpace) && l.o.FullStore:
		l.p.say(report{Refused: true})
		return nil
	}
	return err
}

// state is what the rank's part of a version contains.
func (l *life) state(version int64) []byte {
	n := smallSave
	if l.o.FullStore && version/saveEvery%3 == 0 {
		n = largeSave
	}
	b := fmt.Appendf(nil, "rank %d, version %d\n", l.rank, version)
	for d := rand.New(rand.NewPCG(l.o.Seed<<8|uint64(l.rank), uint64(version))); len(b) < n; {
		b = append(b, byte(d.Uint32()))
	}
	return b
}

// read compares what is there with what must be.
func (l *life) read(version int64, r io.Reader) error {
	got, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if want := l.state(version); !bytes.Equal(got, want) {
		return wrongf("the checkpoint of version %d has %d bytes that begin with %.40q, want %d and %.40q", version, len(got), got, len(want), want)
	}
	return nil
}

// loaded is from which version an attempt goes on, 0 if from none.
type loaded struct {
	Attempt int
	Version int64
}

// lives is what ranks say of checkpoints. Guarded by control.mu.
type lives struct {
	saved   int64         // the newest version that some rank has said to be there for good
	refused int           // times that a rank had no room
	by      map[int]int64 // from which version attempts go on
	bad     []string
}

// loaded checks what a rank found.
func (v *lives) loaded(rank int, l *loaded) {
	if v.by == nil {
		v.by = make(map[int]int64)
	}
	if other, ok := v.by[l.Attempt]; ok && other != l.Version {
		v.bad = append(v.bad, fmt.Sprintf("in attempt %d rank %d goes on from version %d, another from %d", l.Attempt, rank, l.Version, other))
	}
	v.by[l.Attempt] = l.Version
	if l.Version < v.saved {
		v.bad = append(v.bad, fmt.Sprintf("in attempt %d rank %d goes on from version %d, but version %d was saved", l.Attempt, rank, l.Version, v.saved))
	}
}
