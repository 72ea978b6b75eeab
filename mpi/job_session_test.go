package mpi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// sessionOf opens a session that returns errors.
func sessionOf(ctx context.Context, t *testing.T) *Session {
	t.Helper()
	s, err := SessionInit(ctx, nil, ErrorsReturn)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// commOf makes a communicator of a process set.
func commOf(s *Session, pset, text string) (*Comm, error) {
	g, err := s.GroupFromPset(pset)
	if err != nil {
		return nil, err
	}
	return CommCreateFromGroup(g, text, nil, ErrorsReturn)
}

// A process without a launcher opens and finalizes sessions as often as it likes, and leaves
// nothing behind, before Init and after Finalize too.
func TestSessionsAlone(t *testing.T) {
	t.Setenv("FITMPI_LAUNCHER", "none")
	for round := range 3 {
		s := sessionOf(context.Background(), t)
		o := sessionOf(context.Background(), t)
		c, err := commOf(s, PsetWorld, "all")
		if err != nil {
			t.Fatal(err)
		}
		if c.Size() != 1 || c.World().Size() != 1 {
			t.Fatalf("round %d: %v", round, c)
		}
		out := []int{0}
		if err := Allreduce(c, []int{round}, out, Sum); err != nil || out[0] != round {
			t.Fatalf("round %d: %v, %v", round, out, err)
		}
		if err := errors.Join(s.Finalize(), c.Free()); !errors.Is(err, ErrSession) {
			t.Errorf("Free after Finalize: %v", err)
		}
		if _, err := commOf(o, PsetSelf, "me"); err != nil {
			t.Errorf("round %d: the other session: %v", round, err)
		}
		if err := o.Finalize(); err != nil {
			t.Fatal(err)
		}
	}
	if Initialized() {
		t.Error("initialized by sessions")
	}
}

// MPI 4.1, section 11.3: sessions may be opened and finalized by several threads at once.
func TestSessionsAloneSideBySide(t *testing.T) {
	t.Setenv("FITMPI_LAUNCHER", "none")
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for round := range 5 {
				s, err := SessionInit(context.Background(), nil, ErrorsReturn)
				if err != nil {
					t.Error(err)
					return
				}
				c, err := commOf(s, PsetSelf, fmt.Sprint(g, round))
				if err == nil {
					err = Barrier(c)
				}
				if err := errors.Join(err, s.Finalize()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Of two calls that find at once that they were the last to use the rank, one closes it. It may do
// so before the other has looked whether all is sent.
func TestRetireTwice(t *testing.T) {
	t.Setenv("FITMPI_LAUNCHER", "none")
	s := sessionOf(context.Background(), t)
	if err := s.Finalize(); err != nil {
		t.Fatal(err)
	}
	if err := s.job.retire(s.job.ctx, "Session.Finalize"); err != nil {
		t.Errorf("the slower of two: %v", err)
	}
}

// A world that was not initialized cannot be used by way of a session.
func TestSessionWithoutWorld(t *testing.T) {
	t.Setenv("FITMPI_LAUNCHER", "none")
	s := sessionOf(context.Background(), t)
	defer s.Finalize()
	c, err := commOf(s, PsetWorld, "x")
	if err != nil {
		t.Fatal(err)
	}
	w := c.World()
	w.SetErrhandler(ErrorsReturn)
	if err := Barrier(w); !errors.Is(err, ErrComm) || !strings.Contains(err.Error(), "call Init or Main") {
		t.Error(err)
	}
}

// The ends of arguments: what is wrong says so.
func TestSessionArguments(t *testing.T) {
	var nobody *Session
	if err := nobody.Finalize(); !errors.Is(err, ErrSession) {
		t.Error(err)
	}
	if _, err := nobody.IflushBuffer().Wait(); !errors.Is(err, ErrSession) {
		t.Error(err)
	}
	var none context.Context // what a program may give by mistake
	if _, err := SessionInit(none, nil, nil); !errors.Is(err, ErrArg) {
		t.Error(err)
	}
	info := InfoCreate()
	info.Set("thread_level", "MPI_THREAD_TRIPLE")
	if _, err := SessionInit(context.Background(), info, nil); !errors.Is(err, ErrInfoValue) {
		t.Error(err)
	}
	err := RunThreads(2, func(ctx context.Context, world *Comm) error {
		info.Set("thread_level", "MPI_THREAD_SERIALIZED")
		s, err := SessionInit(ctx, info, ErrorsReturn)
		if err != nil {
			return err
		}
		known, err := s.Info()
		if level, _ := known.Get("thread_level"); err != nil || level != "MPI_THREAD_MULTIPLE" {
			return fmt.Errorf("thread level %q, %v", level, err)
		}
		n, err := s.NumPsets()
		if err != nil || n != 3 {
			return fmt.Errorf("%d sets, %v", n, err)
		}
		var names []string
		for i := range n {
			name, err := s.NthPset(i)
			if err != nil {
				return err
			}
			names = append(names, name)
		}
		if want := []string{PsetWorld, PsetSelf, PsetHost}; !slices.Equal(names, want) {
			return fmt.Errorf("sets %v", names)
		}
		for name, want := range map[string]string{PsetWorld: "2", PsetSelf: "1", PsetHost: "2"} {
			about, err := s.PsetInfo(name)
			if size, _ := about.Get("mpi_size"); err != nil || size != want {
				return fmt.Errorf("%s has %q ranks, %v", name, size, err)
			}
		}
		if _, err := s.NthPset(3); !errors.Is(err, ErrArg) {
			return fmt.Errorf("set 3: %v", err)
		}
		if _, err := s.GroupFromPset("mpi://world"); !errors.Is(err, ErrArg) || !strings.Contains(err.Error(), PsetWorld) {
			return fmt.Errorf("unknown set: %v", err)
		}
		if err := s.Finalize(); err != nil {
			return err
		}
		if err := s.Finalize(); !errors.Is(err, ErrSession) {
			return fmt.Errorf("second Finalize: %v", err)
		}
		if _, err := s.Info(); !errors.Is(err, ErrSession) {
			return fmt.Errorf("Info after Finalize: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Ranks of RunThreads that leave a session open are told so, and nothing is left of them.
func TestSessionLeftOpen(t *testing.T) {
	err := RunThreads(2, func(ctx context.Context, world *Comm) error {
		_, err := SessionInit(ctx, nil, ErrorsReturn)
		return err
	})
	if !errors.Is(err, ErrSession) || !strings.Contains(err.Error(), "1 sessions are open") {
		t.Error(err)
	}
}

// A process that is several ranks needs to be told which of them wants the session.
func TestSessionOfSeveralRanks(t *testing.T) {
	t.Setenv("FITMPI_BOOT_FD", "3,4")
	if _, err := SessionInit(context.Background(), nil, nil); !errors.Is(err, ErrSession) || !strings.Contains(err.Error(), "2 ranks") {
		t.Error(err)
	}
}

// A program of several programs has a set for each.
func TestAppsOf(t *testing.T) {
	if apps := appsOf([]card{{App: 0}, {App: 1}, {App: 1}}); !slices.Equal(apps, []int{0, 1, 1}) {
		t.Error(apps)
	}
	if apps := appsOf([]card{{App: 1}, {App: 1}}); apps != nil {
		t.Error(apps)
	}
}

// A context that ends calls off a session that has not joined.
func TestSessionInitCalledOff(t *testing.T) {
	t.Setenv("FITMPI_LAUNCHER", "none")
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	cancel()
	if _, err := SessionInit(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s := sessionOf(context.Background(), t)
	if err := s.Finalize(); err != nil {
		t.Error(err)
	}
}
