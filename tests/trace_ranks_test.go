//go:build linux

package tests

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"github.com/fitmpi/fitmpi/mpi"
)

// The programs of traced jobs.

func init() {
	programs["traced"] = tracedRank
	programs["traced and killed"] = killedRank
	programs["traced long"] = longRank
}

// What tracedRank sends to its right, by tag.
const (
	tagShort = iota + 1
	tagLong
	tagSync
	tagSelf
	tagCancelled
	tagEager
	tagLast

	tracedShort = 5    // messages with tagShort
	tracedMany  = 5000 // rounds of longRank
)

// tracedRank does some of everything, each rank the same.
func tracedRank() {
	mpi.Main(func(ctx context.Context, c *mpi.Comm) error {
		ctx, end := mpi.Region(ctx, "outer")
		if err := tracedMessages(ctx, c); err != nil {
			return err
		}
		_, endInner := mpi.Region(ctx, "inner")
		sum := []int{0}
		if err := mpi.Allreduce(c, []int{c.Rank()}, sum, mpi.Sum); err != nil {
			return err
		}
		if _, err := mpi.Iallreduce(c, []int{c.Rank()}, sum, mpi.Sum).Wait(); err != nil {
			return err
		}
		endInner()
		end()
		if want := c.Size() * (c.Size() - 1) / 2; sum[0] != want {
			return fmt.Errorf("the sum is %d, want %d", sum[0], want)
		}
		return mpi.Barrier(c)
	})
}

func tracedMessages(ctx context.Context, c *mpi.Comm) error {
	_, end := mpi.Region(ctx, "inner")
	defer end()
	right, left := (c.Rank()+1)%c.Size(), (c.Rank()+c.Size()-1)%c.Size()
	for range tracedShort {
		in := []int64{0}
		if err := mpi.Send(c, []int64{1}, right, tagShort); err != nil {
			return err
		}
		if _, err := mpi.Recv(c, in, left, tagShort); err != nil {
			return err
		}
	}
	var all []*mpi.Request
	for range 3 {
		all = append(all, mpi.Irecv(c, make([]byte, 1<<20), left, tagLong), mpi.Isend(c, make([]byte, 1<<20), right, tagLong))
	}
	all = append(all, mpi.Irecv(c, make([]byte, 1<<16), left, tagEager), mpi.Isend(c, make([]byte, 1<<16), right, tagEager),
		mpi.Isend(c, make([]int64, 3), c.Rank(), tagSelf))
	if _, err := mpi.Recv(c, make([]int64, 3), c.Rank(), tagSelf); err != nil {
		return err
	}
	if _, err := mpi.WaitAll(all...); err != nil {
		return err
	}
	cancelled := mpi.Isend(c, make([]byte, 4<<20), right, tagCancelled)
	if err := cancelled.Cancel(); err != nil {
		return err
	}
	if st, err := cancelled.Wait(); err != nil || !st.Cancelled {
		return fmt.Errorf("cancelling: %+v, %w", st, err)
	}
	synced := make(chan error, 1)
	go func() { synced <- mpi.Ssend(c, make([]int64, 2), right, tagSync) }()
	if _, err := mpi.Recv(c, make([]int64, 2), left, tagSync); err != nil {
		return err
	}
	return <-synced
}

// killedRank: rank 1 has sent a message, and dies in a region and in a receive: a tool kills it
// when the call has begun.
func killedRank() {
	mpi.UseTool(func(r mpi.ToolRank) mpi.Tool {
		if r.Rank == 1 {
			return executioner{}
		}
		return nil
	})
	mpi.Main(func(ctx context.Context, c *mpi.Comm) error {
		switch c.Rank() {
		case 0:
			if _, err := mpi.Recv(c, []int{0}, 1, tagLast); err != nil {
				return err
			}
		case 1:
			_, end := mpi.Region(ctx, "doomed")
			defer end()
			if err := mpi.Ssend(c, []int{1}, 0, tagLast); err != nil {
				return err
			}
			_, err := mpi.Recv(c, []int{0}, 0, tagLast)
			return err
		}
		return mpi.Barrier(c)
	})
}

// executioner is a tool that kills its rank in its first receive.
type executioner struct{}

func (executioner) Begin(call *mpi.Call) {
	if call.Op == "Recv" {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func (executioner) End(*mpi.Call, error) {}

// longRank: many short messages to and fro.
func longRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		other := 1 - c.Rank()
		for range tracedMany {
			if _, err := mpi.Sendrecv(c, []int{1}, other, 1, []int{0}, other, 1); err != nil {
				return err
			}
		}
		return nil
	})
}
