package mpi_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// hearer is a tool that keeps the events of messages with one tag.
type hearer struct {
	idle
	tag int
	mu  *sync.Mutex
	all *[]mpi.MessageEvent
}

func (h hearer) Message(m mpi.MessageEvent) {
	if m.Tag != h.tag || m.Use != mpi.UsePointToPoint {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	*h.all = append(*h.all, m)
}

// TestMessageEvents: the sender of a message hears that it is sent and done, the receiver that it
// has arrived, is matched and received, each with its envelope (MPI 4.1, section 15.3.8: events and
// their elements).
func TestMessageEvents(t *testing.T) {
	const tag, n = 77, 3
	var mu sync.Mutex
	heard := [2][]mpi.MessageEvent{}
	remove := mpi.UseTool(func(r mpi.ToolRank) mpi.Tool {
		return hearer{tag: tag, mu: &mu, all: &heard[r.Rank]}
	})
	defer remove()
	err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
		if c.Rank() == 0 {
			return mpi.Send(c, make([]int32, n), 1, tag)
		}
		_, err := mpi.Recv(c, make([]int32, n), 0, tag)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for rank, want := range [2][]mpi.MessageKind{
		{mpi.MessageSent, mpi.MessageSendDone},
		{mpi.MessageArrived, mpi.MessageMatched, mpi.MessageReceived},
	} {
		var kinds []mpi.MessageKind
		for _, m := range heard[rank] {
			kinds = append(kinds, m.Kind)
			if m.Source != 0 || m.Dest != 1 || m.Bytes != 4*n || m.Number != 1 || m.Err != nil {
				t.Errorf("rank %d is told %+v", rank, m)
			}
		}
		if !slices.Equal(kinds, want) {
			t.Errorf("rank %d hears %v, want %v", rank, kinds, want)
		}
	}
	if s := fmt.Sprint(mpi.MessageArrived); s == "" || s == fmt.Sprint(mpi.MessageSent) {
		t.Errorf("an event is called %q", s)
	}
}
