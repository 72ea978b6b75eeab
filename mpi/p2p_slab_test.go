package mpi

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"weak"
)

// TestRequestSlab: goroutines that take requests at once get each one once, whether the requests
// are of messages that have ordinals or not.
func TestRequestSlab(t *testing.T) {
	var j job
	t.Run("any", func(t *testing.T) { takeAtOnce(t, j.takeRequest) })
	var last atomic.Uint64
	t.Run("short", func(t *testing.T) {
		takeAtOnce(t, func() *Request { return j.shortRequest(last.Add(1)) }) // in between another goroutine may come with its own
	})
}

func takeAtOnce(t *testing.T, take func() *Request) {
	const goroutines, each = 8, 1000
	var mu sync.Mutex
	seen := make(map[*Request]bool)
	var all sync.WaitGroup
	for range goroutines {
		all.Go(func() {
			mine := make([]*Request, each)
			for i := range mine {
				mine[i] = take()
			}
			mu.Lock()
			defer mu.Unlock()
			for _, r := range mine {
				if seen[r] {
					t.Error("a request was given twice")
				}
				seen[r] = true
			}
		})
	}
	all.Wait()
	if len(seen) != goroutines*each {
		t.Errorf("%d requests, want %d", len(seen), goroutines*each)
	}
}

// TestRequestSize: a room with what the allocator puts before it fills a size class of 1 KiB.
func TestRequestSize(t *testing.T) {
	const header = 8
	for _, room := range []reflect.Type{reflect.TypeFor[requestSlab](), reflect.TypeFor[shortSlab]()} {
		if n := room.Size() + header; bits.UintSize == 64 && n > 1024 {
			t.Errorf("a %v takes %d bytes, want at most 1024: what few requests have belongs in rare", room, n)
		}
	}
}

// TestRequestsKept: of requests out of one room some are kept, and say the same when others are
// long gone.
func TestRequestsKept(t *testing.T) {
	err := RunThreads(2, func(_ context.Context, c *Comm) error {
		const n = 100
		var out, in [n]int64
		rs := make([]*Request, n)
		for i := range rs {
			if out[i] = int64(i); c.Rank() == 0 {
				rs[i] = Isend(c, out[i:i+1], 1, i)
			} else {
				rs[i] = Irecv(c, in[i:i+1], 0, i)
			}
		}
		for range 2 { // again: no other operation has had it in between
			for i, r := range rs {
				st, err := r.Wait()
				if err != nil {
					return err
				}
				if c.Rank() == 1 && (st.Tag != i || st.Count != 1 || in[i] != int64(i)) {
					t.Errorf("request %d: tag %d, %d elements, %d", i, st.Tag, st.Count, in[i])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRoomHoldsNoBuffers: the room that requests are cut from keeps alive no buffer of those that
// are complete.
func TestRoomHoldsNoBuffers(t *testing.T) {
	err := RunThreads(1, func(ctx context.Context, c *Comm) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if err := c.AttachJobBuffer(make([]byte, 1<<16)); err != nil {
			return err
		}
		bounded, gaps := c.WithContext(ctx), c.WithType(Vector(2, 1, 2, TypeOf[int64]()))
		send := func(r *Request) error {
			_, err := Recv(c, make([]int64, 6), 0, 0)
			_, errw := r.Wait()
			return errors.Join(err, errw)
		}
		receive := func(r *Request) error {
			err := Send(c, []int64{1}, 0, 0)
			_, errw := r.Wait()
			return errors.Join(err, errw)
		}
		free := func(r *Request) error {
			err := r.Free()
			_, errr := Recv(c, make([]int64, 6), 0, 0)
			st, done, errt := r.Test()
			if !done || st != emptyStatus() {
				t.Errorf("a request that was freed: %v, %v", done, st)
			}
			return errors.Join(err, errr, errt)
		}
		nothing := func(r *Request) error {
			_, err := r.Wait()
			return err
		}
		for _, tc := range []struct {
			name  string
			start func(b []int64) *Request
			end   func(*Request) error
		}{
			{"send", func(b []int64) *Request { return Isend(c, b, 0, 0) }, send},
			{"synchronous", func(b []int64) *Request { return Issend(c, b, 0, 0) }, send},
			{"freed", func(b []int64) *Request { return Issend(c, b, 0, 0) }, free},
			{"buffered", func(b []int64) *Request { return Ibsend(c, b, 0, 0) }, send},
			{"layout", func(b []int64) *Request { return Isend(gaps, b, 0, 0) }, send},
			{"bounded", func(b []int64) *Request { return Issend(bounded, b, 0, 0) }, send},
			{"into nowhere", func(b []int64) *Request { return Isend(c, b, ProcNull, 0) }, nothing},
			{"receive", func(b []int64) *Request { return Irecv(c, b, 0, 0) }, receive},
			{"bounded receive", func(b []int64) *Request { return Irecv(bounded, b, 0, 0) }, receive},
			{"from nowhere", func(b []int64) *Request { return Irecv(c, b, ProcNull, 0) }, nothing},
		} {
			buf := make([]int64, 6)
			kept := weak.Make(&buf[0])
			if err := tc.end(tc.start(buf)); err != nil {
				return fmt.Errorf("%s: %w", tc.name, err)
			}
			runtime.GC()
			if kept.Value() != nil {
				t.Errorf("%s: the buffer is kept", tc.name)
			}
		}
		_, err := c.DetachJobBuffer()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
