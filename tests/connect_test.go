//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// Jobs that were started apart and meet (MPI 4.1, sections 11.9 and 11.10).

func init() {
	programs["server"] = func() { mpi.Main(serverRank) }
	programs["client"] = func() { mpi.Main(clientRank) }
}

const service = "tests/ocean"

// serverRank serves clients one after the other, as many as there are.
func serverRank(ctx context.Context, c *mpi.Comm) error {
	var port string
	var err error
	if c.Rank() == 0 {
		if port, err = c.OpenPort(nil); err == nil {
			err = c.PublishName(service, port, nil)
		}
		if err != nil {
			return err
		}
	}
	for range 3 {
		client, err := c.Accept(port, 0, nil)
		if err != nil {
			return err
		}
		if err := serve(c, client); err != nil {
			return err
		}
	}
	if c.Rank() == 0 {
		return errors.Join(c.UnpublishName(service, nil), c.ClosePort(port))
	}
	return nil
}

// serve adds what the ranks of a client send, and sends each the sum.
func serve(c, client *mpi.Comm) error {
	sum := []int{0}
	root := mpi.ProcNull
	if c.Rank() == 0 {
		root = mpi.Root
	}
	if err := mpi.Reduce(client, nil, sum, mpi.Sum, root); err != nil {
		return err
	}
	if c.Rank() == 0 {
		for r := range client.RemoteSize() {
			if err := mpi.Send(client, sum, r, 1); err != nil {
				return err
			}
		}
	}
	return client.Disconnect()
}

func clientRank(ctx context.Context, c *mpi.Comm) error {
	c.SetErrhandler(mpi.ErrorsReturn)
	var port string
	for c.Rank() == 0 && port == "" {
		var err error
		if port, err = c.LookupName(service, nil); err != nil && !errors.Is(err, mpi.ErrName) {
			return err
		}
		time.Sleep(5 * time.Millisecond) // until it is published
	}
	server, err := c.Connect(port, 0, nil)
	if err != nil {
		return err
	}
	if err := mpi.Reduce(server, []int{c.Rank() + 1}, nil, mpi.Sum, 0); err != nil {
		return err
	}
	sum, _, err := mpi.RecvValue[int](server, 0, 1)
	if n := c.Size(); err != nil || sum != n*(n+1)/2 {
		return fmt.Errorf("sum %d of %d ranks: %v", sum, n, err)
	}
	fmt.Printf("rank %d of %d: %d\n", c.Rank(), c.Size(), sum)
	return server.Disconnect()
}

// Jobs of their own fitrun meet at a port whose name one has published: with processes, threads, by
// a name server and without one, and one client after the other.
func TestConnect(t *testing.T) {
	for _, withServer := range []bool{false, true} {
		t.Run(fmt.Sprintf("name server %v", withServer), func(t *testing.T) {
			t.Parallel()
			set := []string{"TMPDIR=" + t.TempDir()}
			if withServer {
				set = append(set, startNameserver(t))
			}
			var jobs sync.WaitGroup
			jobs.Go(func() {
				run := binaryRequest(selfPath(t), "server", 2, "assist", "", set...).run(t, nil)
				if run.code != 0 || run.stderr != "" {
					t.Errorf("server: code %d\n%s", run.code, run.stderr)
				}
			})
			for n, policy := range []string{"assist", "worker", "caller"} {
				jobs.Go(func() {
					run := binaryRequest(selfPath(t), "client", n+1, policy, "", set...).run(t, nil)
					if run.code != 0 || run.stderr != "" || strings.Count(run.stdout, "\n") != n+1 {
						t.Errorf("client of %d: code %d\n%s%s", n+1, run.code, run.stdout, run.stderr)
					}
				})
			}
			jobs.Wait()
		})
	}
}

// inTwoJobs runs two jobs of threads side by side, which meet at a port of the first.
func inTwoJobs(t *testing.T, n [2]int, fn func(side int, c, inter *mpi.Comm) error) {
	t.Helper()
	name := make(chan string, n[1])
	var jobs sync.WaitGroup
	for side := range n {
		jobs.Go(func() {
			err := mpi.RunThreads(n[side], func(ctx context.Context, c *mpi.Comm) error {
				c.SetErrhandler(mpi.ErrorsReturn)
				inter, err := meetAt(c, side, name)
				if err != nil {
					return err
				}
				return fn(side, c, inter)
			})
			if err != nil {
				t.Errorf("job %d: %v", side, err)
			}
		})
	}
	jobs.Wait()
}

func meetAt(c *mpi.Comm, side int, name chan string) (inter *mpi.Comm, err error) {
	var port string
	if side == 0 {
		if c.Rank() == 0 {
			if port, err = c.OpenPort(nil); err != nil {
				return nil, err
			}
			name <- port
		}
		return c.Accept(port, 0, nil)
	}
	if c.Rank() == 0 {
		port = <-name
	}
	return c.Connect(port, 0, nil)
}

// The whole of what two connected groups can do, between jobs of threads.
func TestConnectThreads(t *testing.T) {
	t.Parallel()
	inTwoJobs(t, [2]int{2, 2}, func(side int, c, inter *mpi.Comm) error { return exchangeBetween(context.Background(), c, inter, side) })
	inTwoJobs(t, [2]int{3, 1}, func(side int, c, inter *mpi.Comm) error {
		dup, err := inter.Dup(nil)
		if err != nil {
			return err
		}
		w, err := inter.Merge(side == 1)
		if err != nil {
			return err
		}
		if r, err := inter.RemoteGroup().Compare(c.Group()); err != nil || r != mpi.Unequal {
			return fmt.Errorf("the groups are %v, %v", r, err)
		}
		if r, err := inter.Compare(dup); err != nil || r != mpi.Congruent {
			return fmt.Errorf("a duplicate is %v, %v", r, err)
		}
		if err := putAround(w); err != nil {
			return err
		}
		return errors.Join(dup.Free(), w.Free()) // and Finalize while they are connected by inter
	})
}

// putAround puts a number into the memory of the next rank.
func putAround(c *mpi.Comm) error {
	memory := []int64{-1}
	w, err := mpi.WinCreate(c, memory, nil)
	if err != nil {
		return err
	}
	if err := w.Fence(0); err != nil {
		return err
	}
	if err := mpi.Put(w, []int64{int64(c.Rank())}, (c.Rank()+1)%c.Size(), 0); err != nil {
		return err
	}
	if err := w.Fence(0); err != nil {
		return err
	}
	if want := int64((c.Rank() + c.Size() - 1) % c.Size()); memory[0] != want {
		return fmt.Errorf("rank %d has %d, want %d", c.Rank(), memory[0], want)
	}
	return w.Free()
}

// A message to a rank of another job arrives, though its sender has freed the communicator, or
// disconnects, before there was a connection.
func TestSendAndPart(t *testing.T) {
	t.Parallel()
	for _, end := range []func(*mpi.Comm) error{(*mpi.Comm).Free, (*mpi.Comm).Disconnect} {
		inTwoJobs(t, [2]int{2, 3}, func(side int, c, inter *mpi.Comm) error {
			if side == 1 {
				if err := mpi.SendValue(inter, c.Rank(), 1, 0); err != nil {
					return err
				}
				return end(inter)
			}
			for r := 0; c.Rank() == 1 && r < 3; r++ {
				if got, _, err := mpi.RecvValue[int](inter, r, 0); err != nil || got != r {
					return fmt.Errorf("from rank %d: %d, %v", r, got, err)
				}
			}
			return end(inter)
		})
	}
}

// Disconnect does not wait for what is under way over another communicator with the same ranks.
func TestDisconnectOne(t *testing.T) {
	t.Parallel()
	inTwoJobs(t, [2]int{1, 1}, func(side int, c, inter *mpi.Comm) error {
		dup, err := inter.Dup(nil)
		if err != nil {
			return err
		}
		out := make([]byte, 1<<20)
		if side == 1 {
			if err := dup.AttachBuffer(make([]byte, len(out)+mpi.BsendOverhead)); err != nil {
				return err
			}
			if err := mpi.Bsend(dup, out, 0, 0); err != nil {
				return err
			}
		}
		if err := inter.Disconnect(); err != nil {
			return err
		}
		if side == 0 {
			if _, err := mpi.Recv(dup, out, 0, 0); err != nil {
				return err
			}
		}
		return dup.Disconnect()
	})
}

// Jobs that have parted meet again, over and over: nothing of the last time is in the way.
func TestConnectAgain(t *testing.T) {
	t.Parallel()
	const times = 5
	var ports [times]chan string
	for i := range ports {
		ports[i] = make(chan string, 1)
	}
	var jobs sync.WaitGroup
	for side := range 2 {
		jobs.Go(func() {
			err := mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
				for i := range times {
					inter, err := meetAt(c, side, ports[i])
					if err != nil {
						return err
					}
					if err := exchangeBetween(ctx, c, inter, side); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	jobs.Wait()
}

// One that dies is ErrProcFailed to those that it was connected with, and to no other; the job goes
// on.
func TestConnectedDies(t *testing.T) {
	t.Parallel()
	name, dead := make(chan string, 1), make(chan struct{})
	var jobs sync.WaitGroup
	jobs.Go(func() {
		err := mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
			inter, err := meetAt(c, 0, name)
			if err != nil {
				return err
			}
			inter.SetErrhandler(mpi.ErrorsReturn)
			if _, _, err := mpi.RecvValue[int](inter, 0, 0); !errors.Is(err, mpi.ErrProcFailed) {
				return fmt.Errorf("a receive from a rank that has died: %v", err)
			}
			return mpi.Barrier(c)
		})
		if err != nil {
			t.Error(err)
		}
	})
	jobs.Go(func() {
		defer close(dead)
		_ = mpi.RunThreads(1, func(ctx context.Context, c *mpi.Comm) error {
			if _, err := meetAt(c, 1, name); err != nil {
				t.Error(err)
			}
			return errors.New("it fails")
		})
	})
	jobs.Wait()
	<-dead
}

// MPI 4.1, section 11.10.5: two ranks with a socket between them join.
func TestJoin(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ends := make([]net.Conn, 2)
	if ends[0], err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if ends[1], err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	var jobs sync.WaitGroup
	for side, conn := range ends {
		defer conn.Close()
		jobs.Go(func() {
			err := mpi.RunThreads(1, func(ctx context.Context, c *mpi.Comm) error {
				inter, err := c.Join(conn)
				if err != nil {
					return err
				}
				in := []int{0}
				if _, err := mpi.Sendrecv(inter, []int{side}, 0, 0, in, 0, 0); err != nil || in[0] != 1-side {
					return fmt.Errorf("%d, %v", in[0], err)
				}
				if _, err := conn.Write([]byte{byte(side)}); err != nil { // which is ours again
					return err
				}
				b := make([]byte, 1)
				if _, err := conn.Read(b); err != nil || b[0] != byte(1-side) {
					return fmt.Errorf("%d, %v", b[0], err)
				}
				return inter.Disconnect()
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	jobs.Wait()
}

// Bad input gets one clear error at every rank, and nothing hangs.
func TestConnectErrors(t *testing.T) {
	t.Parallel()
	err := mpi.RunThreads(2, func(ctx context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		nothing, err := c.OpenPort(nil)
		if err == nil {
			err = c.ClosePort(nothing)
		}
		if err != nil {
			return err
		}
		soon, cancel := context.WithTimeoutCause(ctx, 50*time.Millisecond, errors.New("too late"))
		defer cancel()
		port, err := c.OpenPort(nil)
		if err != nil {
			return err
		}
		for _, tt := range []struct {
			what string
			call func() error
			want string
		}{
			{"no name", func() error { _, err := c.Connect("nonsense", 0, nil); return err }, "is no name of a port"},
			{"a port that was closed", func() error { _, err := c.Connect(nothing, 0, nil); return err }, "no such port is open"},
			{"Accept where none is open", func() error { _, err := c.Accept(nothing, 1, nil); return err }, "no open port of that name"},
			{"ClosePort of what is none", func() error { return c.ClosePort(nothing) }, "no open port of that name"},
			{"Accept of nothing in time", func() error { _, err := c.WithContext(soon).Accept(port, 0, nil); return err }, "too late"},
		} {
			if err := tt.call(); err == nil || !strings.Contains(err.Error(), tt.want) || !errors.Is(err, mpi.ErrPort) && tt.want != "too late" {
				return fmt.Errorf("%s: %v, want one with %q", tt.what, err, tt.want)
			}
		}
		if _, err := c.Connect(port, 2, nil); !errors.Is(err, mpi.ErrRank) {
			return fmt.Errorf("root 2: %v", err)
		}
		if err := c.Disconnect(); !errors.Is(err, mpi.ErrComm) {
			return fmt.Errorf("Disconnect of the world: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// Names are taken by one, found by all, and end with what has published them (MPI 4.1, section
// 11.9.4).
func TestPublishedNames(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	find := func(c *mpi.Comm) error { _, err := c.LookupName("x", nil); return err }
	err := mpi.RunThreads(1, func(ctx context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		if err := find(c); !errors.Is(err, mpi.ErrName) {
			return fmt.Errorf("before: %v", err)
		}
		if err := c.UnpublishName("x", nil); !errors.Is(err, mpi.ErrService) {
			return fmt.Errorf("taken back before: %v", err)
		}
		if err := c.PublishName("x", "a port", nil); err != nil {
			return err
		}
		if err := c.PublishName("x", "a port", nil); !errors.Is(err, mpi.ErrService) {
			return fmt.Errorf("again: %v", err)
		}
		if port, err := c.LookupName("x", nil); err != nil || port != "a port" {
			return fmt.Errorf("found: %q, %v", port, err)
		}
		return nil // and Finalize takes it back
	})
	if err != nil {
		t.Error(err)
	}
	err = mpi.RunThreads(1, func(ctx context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		if err := find(c); !errors.Is(err, mpi.ErrName) {
			return fmt.Errorf("after the end of what had published it: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// startNameserver runs fitrun nameserver until the test ends, and returns NAME=VALUE as it says.
func startNameserver(t *testing.T) string {
	t.Helper()
	cmd := request{path: "x"}.command(t)
	cmd.Args = slices.Concat(cmd.Args[:1], []string{"nameserver"})
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the context of t has ended, so the one signal is on its way: two may kill it while it ends
		if err := cmd.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("fitrun nameserver: %v", err)
		}
	})
	var line string
	if _, err := fmt.Fscanln(out, &line); err != nil {
		t.Fatal(err)
	}
	return line
}
