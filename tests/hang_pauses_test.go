//go:build linux

package tests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// pauseTime is how long ranks pause that seem to hang.
const pauseTime = 800 * time.Millisecond

// oneOnly makes a program in which rank 0 waits for f, and the others for rank 0.
func oneOnly(f func(c *mpi.Comm) error) func(c *mpi.Comm) error {
	return func(c *mpi.Comm) error {
		if c.Rank() == 0 {
			if err := f(c); err != nil {
				return err
			}
		}
		return mpi.Barrier(c)
	}
}

// startLater starts a process that ends after a pause, as something outside of the job: nothing in
// the rank tells of it. out is its standard output; it asks for a page before it ends unless url is
// empty. The caller waits for it.
func startLater(out *os.File, url string) (*exec.Cmd, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), envProgram+"=later", envCase+"="+url)
	cmd.Stdout = out
	cmd.Stderr = os.Stderr
	return cmd, cmd.Start()
}

func laterProcess() {
	time.Sleep(pauseTime)
	if url := os.Getenv(envCase); url != "" {
		if _, err := http.Get(url); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// pauses are programs that end, after a time in which nothing is in flight.
var pauses = map[string]func(c *mpi.Comm) error{
	"computes": oneOnly(func(*mpi.Comm) error {
		for began := time.Now(); time.Since(began) < pauseTime; {
		}
		return nil
	}),
	"sleeps": oneOnly(func(*mpi.Comm) error {
		time.Sleep(pauseTime)
		return nil
	}),
	"pipe": oneOnly(func(*mpi.Comm) error {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		later, err := startLater(w, "")
		if err != nil {
			return err
		}
		w.Close()
		_, err = io.ReadAll(r)
		return errors.Join(err, later.Wait())
	}),
	"standard input": oneOnly(func(*mpi.Comm) error {
		_, err := io.ReadAll(os.Stdin)
		return err
	}),
	"network": oneOnly(func(*mpi.Comm) error {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		later, err := startLater(nil, "http://"+ln.Addr().String())
		if err != nil {
			return err
		}
		conn, err := ln.Accept()
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		// What is not read when the connection is closed resets it, and the answer may be lost with
		// it.
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			return fmt.Errorf("request: %w", err)
		}
		io.WriteString(conn, "HTTP/1.0 200 OK\r\n\r\n")
		return errors.Join(conn.Close(), ln.Close(), later.Wait())
	}),
	"handler of a server that the standard library has started": oneOnly(func(*mpi.Comm) error {
		var asked sync.WaitGroup
		asked.Add(1)
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Done() }))
		defer s.Close()
		later, err := startLater(nil, s.URL)
		if err != nil {
			return err
		}
		asked.Wait()
		return later.Wait()
	}),
	"function that a timer starts": func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			time.AfterFunc(pauseTime, func() { mpi.Send(c, few8(), 0, 5) })
		}
		if c.Rank() == 0 {
			if _, err := mpi.Recv(c, few8(), 1, 5); err != nil {
				return err
			}
		}
		return mpi.Barrier(c)
	},
	"function that the end of a context starts": func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			ctx, cancel := context.WithTimeout(context.Background(), pauseTime)
			defer cancel()
			context.AfterFunc(ctx, func() { mpi.Send(c, few8(), 0, 5) })
		}
		if c.Rank() == 0 {
			if _, err := mpi.Recv(c, few8(), 1, 5); err != nil {
				return err
			}
		}
		return mpi.Barrier(c)
	},
	"cleanup": collected(func(send func()) {
		runtime.AddCleanup(new(rubbish), func(int) { send() }, 0)
	}),
	"finalizer": collected(func(send func()) {
		runtime.SetFinalizer(new(rubbish), func(*rubbish) { send() })
	}),
	"finalizer of what one with a finalizer holds": collected(func(send func()) {
		held := new(rubbish)
		runtime.SetFinalizer(held, func(*rubbish) { send() })
		runtime.SetFinalizer(&rubbish{holds: held}, func(*rubbish) {})
	}),
	"cleanup of what a pool holds": collected(func(send func()) {
		r := new(rubbish)
		runtime.AddCleanup(r, func(int) { send() }, 0)
		rubbishes.Put(r)
	}),
	"any rank of the remote group": func(c *mpi.Comm) error {
		local, err := c.Split(c.Rank()%2, 0)
		if err != nil {
			return err
		}
		inter, err := local.IntercommCreate(0, c, 1-c.Rank()%2, 3)
		if err != nil {
			return err
		}
		if c.Rank() == 1 {
			time.Sleep(pauseTime)
			return mpi.Send(inter, few8(), 0, 5)
		}
		_, err = mpi.Recv(inter, few8(), mpi.AnySource, 5)
		return err
	},
	"condition that nobody seen signals": oneOnly(func(*mpi.Comm) error {
		var mu sync.Mutex
		done := false
		over := sync.NewCond(&mu)
		time.AfterFunc(pauseTime, func() { // as a goroutine of the standard library's does when bytes of an HTTP/2 stream come
			mu.Lock()
			defer mu.Unlock()
			done = true
			over.Signal()
		})
		mu.Lock()
		defer mu.Unlock()
		for !done {
			over.Wait()
		}
		return nil
	}),
	"buffer of messages that are received later": func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			for began := time.Now(); time.Since(began) < pauseTime; {
			}
			_, err := mpi.Recv(c, make([]byte, 1<<20), 0, 3)
			return err
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
	"timer": oneOnly(func(*mpi.Comm) error {
		<-time.After(pauseTime)
		return nil
	}),
	"select": oneOnly(func(*mpi.Comm) error {
		ctx, cancel := context.WithTimeout(context.Background(), pauseTime)
		defer cancel()
		select {
		case <-ctx.Done():
		case <-time.After(time.Hour):
		}
		return nil
	}),
	"channel of a goroutine that sleeps": oneOnly(func(*mpi.Comm) error {
		c := make(chan int)
		go func() { // ends after the pause
			time.Sleep(pauseTime)
			close(c)
		}()
		<-c
		return nil
	}),
	"another goroutine sends": func(c *mpi.Comm) error {
		if c.Rank() != 0 {
			return errors.Join(mpi.Send(c, few8(), 0, 2), recvFrom(c, 0, 1))
		}
		sent := make(chan error)
		go func() { // ends after the pause
			time.Sleep(pauseTime)
			for r := 1; r < c.Size(); r++ {
				if err := mpi.Send(c, few8(), r, 1); err != nil {
					sent <- err
				}
			}
			close(sent)
		}()
		for r := 1; r < c.Size(); r++ {
			if err := recvFrom(c, r, 2); err != nil {
				return err
			}
		}
		return <-sent
	},
	"blocked, and one goroutine computes": func(c *mpi.Comm) error {
		var wg sync.WaitGroup
		wg.Go(func() { recvFrom(c, 1-c.Rank(), 7) })
		if c.Rank() == 0 {
			for began := time.Now(); time.Since(began) < pauseTime; {
			}
			if err := mpi.Send(c, few8(), 1, 7); err != nil {
				return err
			}
			wg.Wait()
			return nil
		}
		wg.Wait()
		return mpi.Send(c, few8(), 0, 7)
	},
	"mutex of a goroutine that sleeps": oneOnly(func(*mpi.Comm) error {
		var mu sync.Mutex
		mu.Lock()
		go func() { // ends after the pause
			time.Sleep(pauseTime)
			mu.Unlock()
		}()
		mu.Lock()
		return nil
	}),
	"context with a deadline": func(c *mpi.Comm) error {
		ctx, cancel := context.WithTimeout(context.Background(), pauseTime)
		defer cancel()
		b := c.WithContext(ctx)
		b.SetErrhandler(mpi.ErrorsReturn)
		if err := recvFrom(b, next(c), 7); !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("receive with a deadline: %w", err)
		}
		return nil
	},
	lateCase: mpi.Barrier,
	"ping": func(c *mpi.Comm) error {
		for began, going := time.Now(), []int32{1}; going[0] == 1; {
			if _, err := mpi.Sendrecv(c, few8(), next(c), 1, few8(), before(c), 1); err != nil {
				return err
			}
			if time.Since(began) > pauseTime {
				going[0] = 0
			}
			if err := mpi.Bcast(c, going, 0); err != nil {
				return err
			}
		}
		return nil
	},
}
