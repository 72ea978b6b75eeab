//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// What ranks do that hang, or only seem to. The names are those of the cases of TestHang and
// TestNoHang.

func init() {
	programs["hang"] = hangRank
	programs["later"] = laterProcess
}

// lateCase is the program one of whose ranks, whichever is first, comes to Init late, waitingCase
// that in which it comes there when the test has made a file.
const (
	lateCase    = "Init comes late"
	waitingCase = "Init waits"
)

func hangRank() {
	if name := os.Getenv(envCase); name == lateCase || name == waitingCase {
		if f, err := os.OpenFile(filepath.Join(os.Getenv(envDir), "late"), os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			f.Close()
			if name == waitingCase {
				awaitGo()
			} else {
				time.Sleep(pauseTime)
			}
		}
	}
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		name := os.Getenv(envCase)
		if f, ok := hangs[name]; ok {
			return f(c)
		}
		return pauses[name](c)
	})
}

// signalCase is the program that only a signal lets go on.
const signalCase = "signal"

// rubbish is what becomes garbage.
type rubbish struct {
	holds *rubbish
	_     [64]byte // large enough to be allocated alone
}

// collected makes a program in which rank 0 waits for a message that rank 1 has the garbage
// collector send: prepare makes the rubbish with which send is to be called.
func collected(prepare func(send func())) func(c *mpi.Comm) error {
	return func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			prepare(func() { mpi.Send(c, few8(), 0, 5) })
		}
		if c.Rank() == 0 {
			if err := recvFrom(c, 1, 5); err != nil {
				return err
			}
		}
		return mpi.Barrier(c)
	}
}

var rubbishes sync.Pool

// awaitGo computes until the test has made its file.
func awaitGo() {
	for file := filepath.Join(os.Getenv(envDir), "go"); ; {
		if _, err := os.Stat(file); err == nil {
			return
		}
	}
}

// few8 and many are buffers of messages that are short, and that no rank sends before they are
// received.
func few8() []int32 { return make([]int32, 2) }
func many() []int32 { return make([]int32, 16<<20) }

// next and before are the neighbours in a ring.
func next(c *mpi.Comm) int   { return (c.Rank() + 1) % c.Size() }
func before(c *mpi.Comm) int { return (c.Rank() + c.Size() - 1) % c.Size() }

// recvFrom receives a short message.
func recvFrom(c *mpi.Comm, source, tag int) error {
	_, err := mpi.Recv(c, few8(), source, tag)
	return err
}

// hangs are programs that can never end.
var hangs = map[string]func(c *mpi.Comm) error{
	"window lock": func(c *mpi.Comm) error {
		w, _, err := mpi.WinAllocate[int64](c, 1, nil)
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			if err := w.Lock(mpi.LockExclusive, 0, 0); err != nil {
				return err
			}
			if err := mpi.Send(c, few8(), 0, 5); err != nil {
				return err
			}
			return recvFrom(c, 0, 7)
		}
		if err := recvFrom(c, 1, 5); err != nil {
			return err
		}
		return w.Lock(mpi.LockExclusive, 0, 0)
	},
	"fence without one": func(c *mpi.Comm) error {
		w, _, err := mpi.WinAllocate[int64](c, 1, nil)
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			return recvFrom(c, 0, 7)
		}
		return w.Fence(0)
	},
	"file written without one": func(c *mpi.Comm) error {
		f, err := mpi.FileOpen(c, filepath.Join(os.Getenv(envDir), "file"), mpi.ModeCreate|mpi.ModeWronly, nil)
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			return recvFrom(c, 0, 7)
		}
		_, err = mpi.FileWriteAll(f, few8())
		return err
	},
	"recv recv": func(c *mpi.Comm) error {
		_, err := mpi.Recv(c, few8(), 1-c.Rank(), 7)
		return err
	},
	"ssend ssend": func(c *mpi.Comm) error {
		return mpi.Ssend(c, few8(), 1-c.Rank(), 3)
	},
	"long sends": func(c *mpi.Comm) error {
		return mpi.Send(c, many(), 1-c.Rank(), 3)
	},
	"many sends": func(c *mpi.Comm) error {
		for {
			if err := mpi.Send(c, make([]int32, 4096), 1-c.Rank(), 3); err != nil {
				return err
			}
		}
	},
	"ring": func(c *mpi.Comm) error {
		_, err := mpi.Recv(c, few8(), before(c), 1)
		return err
	},
	"wrong tag": func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			_, err := mpi.Recv(c, few8(), 1, 8)
			return err
		}
		return errors.Join(mpi.Send(c, few8(), 0, 7), recvFrom(c, 0, 1))
	},
	"wrong tag of a long message": func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			_, err := mpi.Recv(c, many(), 1, 8)
			return err
		}
		return mpi.Send(c, many(), 0, 7)
	},
	"wrong source": func(c *mpi.Comm) error {
		switch c.Rank() {
		case 0:
			_, err := mpi.Recv(c, few8(), 1, 5)
			return err
		case 2:
			return mpi.Send(c, few8(), 0, 5)
		default:
			return nil
		}
	},
	"wrong communicator": func(c *mpi.Comm) error {
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		if err := d.SetName("copy"); err != nil {
			return err
		}
		if c.Rank() == 0 {
			_, err := mpi.Recv(d, few8(), 1, 5)
			return err
		}
		return errors.Join(mpi.Send(c, few8(), 0, 5), recvFrom(d, 0, 6))
	},
	"rank of another communicator": func(c *mpi.Comm) error {
		odd, err := c.Split(c.Rank()%2, 0)
		if err != nil {
			return err
		}
		if err := odd.SetName("odd"); err != nil || c.Rank()%2 == 0 {
			return err
		}
		if c.Rank() == 1 {
			_, err := mpi.Recv(c, few8(), 1, 5) // meant is rank 1 of odd
			return err
		}
		return errors.Join(mpi.Send(odd, few8(), 0, 5), recvFrom(odd, 0, 6))
	},
	"bcast reduce": func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Reduce(c, few8(), few8(), mpi.Sum, 0)
		}
		return mpi.Bcast(c, few8(), 0)
	},
	"barrier without one that is done": func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return nil
		}
		return mpi.Barrier(c)
	},
	"barrier without one that receives": func(c *mpi.Comm) error {
		if c.Rank() == 2 {
			_, err := mpi.Recv(c, few8(), 0, 7)
			return err
		}
		return mpi.Barrier(c)
	},
	"waitall": func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			return errors.Join(mpi.Send(c, few8(), 1, 1), mpi.Send(c, few8(), 1, 2), recvFrom(c, 1, 9))
		}
		var rs []*mpi.Request
		for tag := range 3 {
			rs = append(rs, mpi.Irecv(c, few8(), 0, tag+1))
		}
		_, err := mpi.WaitAll(rs...)
		return err
	},
	"probe": func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			_, err := mpi.Probe(c, 1, 5)
			return err
		}
		return recvFrom(c, 0, 5)
	},
	"knot": func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			_, err := mpi.Recv(c, few8(), mpi.AnySource, 4)
			return err
		}
		rs := []*mpi.Request{mpi.Irecv(c, few8(), next(c), 1), mpi.Irecv(c, few8(), before(c), 1)}
		_, _, err := mpi.WaitAny(rs...)
		return err
	},
	"receive from one that is done": func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return nil
		}
		_, err := mpi.Recv(c, few8(), 1, 7)
		return err
	},
	"send to itself": func(c *mpi.Comm) error {
		return mpi.Ssend(c, few8(), c.Rank(), 7)
	},
	"waitgroup": func(c *mpi.Comm) error {
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() { recvFrom(c, 1-c.Rank(), 7) })
		}
		wg.Wait()
		return nil
	},
	"mutex": func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			var mu sync.Mutex
			mu.Lock()
			mu.Lock()
		}
		return recvFrom(c, 0, 7)
	},
	"buffer": func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			return recvFrom(c, 0, 7)
		}
		if err := c.AttachJobBuffer(make([]byte, 2<<20)); err != nil {
			return err
		}
		if err := mpi.Bsend(c, make([]byte, 1<<20), 1, 3); err != nil {
			return err
		}
		_, err := c.DetachJobBuffer()
		return err
	},
	"very many": func(c *mpi.Comm) error {
		var rs []*mpi.Request
		for range 1000 {
			rs = append(rs, mpi.Irecv(c, few8(), next(c), 1))
		}
		_, err := mpi.WaitAll(rs...)
		return err
	},
	"function of the garbage collector that waits": func(c *mpi.Comm) error {
		runtime.AddCleanup(new(rubbish), func(tag int) { recvFrom(c, 1-c.Rank(), tag) }, 9)
		return recvFrom(c, 1-c.Rank(), 7)
	},
	signalCase: func(c *mpi.Comm) error { // ends when rank 1 gets a signal
		if c.Rank() == 0 {
			return errors.Join(recvFrom(c, 1, 5), mpi.Barrier(c))
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGUSR1)
		defer stop()
		context.AfterFunc(ctx, func() { mpi.Send(c, few8(), 0, 5) })
		fmt.Println("waiting in process", os.Getpid())
		return mpi.Barrier(c)
	},
	"survivors": func(c *mpi.Comm) error { // rank 3 dies, with messages of all under way to it and from it
		c.SetErrhandler(mpi.ErrorsReturn)
		if c.Rank() == 3 {
			for r := range 3 {
				mpi.Send(c, few8(), r, 5)
				recvFrom(c, r, 4)
			}
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		for tag := range 5 {
			mpi.Send(c, few8(), 3, tag)
			mpi.Send(c, few8(), 3, 4)
		}
		if err := recvFrom(c, 3, 6); err == nil {
			return errors.New("received from the dead")
		}
		return recvFrom(c, (c.Rank()+1)%3, 7)
	},
	"partitions": func(c *mpi.Comm) error {
		var r *mpi.Request
		if c.Rank() == 0 {
			r = mpi.PsendInit(c, make([]int32, 8), 4, 1, 2)
		} else {
			r = mpi.PrecvInit(c, make([]int32, 8), 4, 0, 2)
		}
		if err := r.Start(); err != nil {
			return err
		}
		if c.Rank() == 0 {
			if err := r.Pready(1); err != nil {
				return err
			}
		}
		_, err := r.Wait()
		return err
	},
}
