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

// TestVariableGroups: each parameter belongs to a group, and groups come one after the other (MPI
// 4.1, section 15.3.9: categories).
func TestVariableGroups(t *testing.T) {
	err := mpi.RunThreads(1, func(_ context.Context, c *mpi.Comm) error {
		var groups []string
		in := map[string]string{}
		for _, v := range c.Variables() {
			in[v.Name] = v.Group
			switch n := len(groups); {
			case v.Group == "":
				return fmt.Errorf("%s is in no group", v.Name)
			case n > 0 && groups[n-1] == v.Group:
			case slices.Contains(groups, v.Group):
				return fmt.Errorf("%s stands apart from its group %s", v.Name, v.Group)
			default:
				groups = append(groups, v.Group)
			}
		}
		if len(groups) < 3 || in["FITMPI_EAGER_MAX"] != "messages" || in["FITMPI_EAGER_MAX"] == in["FITMPI_LOG"] {
			return fmt.Errorf("groups %v, FITMPI_EAGER_MAX in %s", groups, in["FITMPI_EAGER_MAX"])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestContextIDs: the number of a communicator is the same at all of its ranks, and no other's.
func TestContextIDs(t *testing.T) {
	err := mpi.RunThreads(3, func(_ context.Context, c *mpi.Comm) error {
		dup, err := c.Dup(nil)
		if err != nil {
			return err
		}
		for _, x := range []*mpi.Comm{c, dup} {
			all, err := mpi.AllgatherValue(x, x.ContextID())
			if err != nil || slices.Max(all) != slices.Min(all) {
				return fmt.Errorf("%v, %w", all, err)
			}
		}
		if dup.ContextID() == c.ContextID() || c.Restarts() != 0 {
			return fmt.Errorf("a duplicate has number %d, as the original; the job was started anew %d times", dup.ContextID(), c.Restarts())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
