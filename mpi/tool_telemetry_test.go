package mpi

import (
	"context"
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// asking is a session whose launcher asks, and takes answers when it is told to.
type asking struct {
	boot.Session
	events   chan boot.Event
	take     chan struct{} // closed when it takes answers
	answered chan int
}

func (s *asking) Events() <-chan boot.Event { return s.events }

func (s *asking) Answer(number int, _ []byte) error {
	<-s.take
	s.answered <- number
	return nil
}

// Several may ask at once, the watch for deadlocks and fitrun status for instance: all are
// answered, however late the first is.
func TestAllQuestionsAreAnswered(t *testing.T) {
	err := RunThreads(1, func(_ context.Context, c *Comm) error {
		s := &asking{c.job.session, make(chan boot.Event), make(chan struct{}), make(chan int, boot.MaxQuestions)}
		j := &job{session: s, engine: c.job.engine, ctx: c.job.ctx}
		j.events.Go(j.watch)
		for number := range boot.MaxQuestions {
			s.events <- boot.Event{Kind: boot.Asked, Rank: -1, Code: number, Message: telemetry.AskPulse}
		}
		close(s.events)
		close(s.take)
		j.events.Wait()
		close(s.answered)
		number := 0
		for got := range s.answered {
			if got != number {
				t.Errorf("answer %d, want that to question %d", got, number)
			}
			number++
		}
		if number != boot.MaxQuestions {
			t.Errorf("%d questions are answered, want %d", number, boot.MaxQuestions)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A rank with more peers than a report has room for tells of all of them in some reports.
func TestTrafficTakesTurns(t *testing.T) {
	err := RunThreads(5, func(_ context.Context, c *Comm) error {
		if err := Alltoall(c, make([]int, 5), make([]int, 5)); err != nil {
			return err
		}
		var told []int
		for range 3 {
			ps := c.job.traffic(2)
			if len(ps) != 2 {
				t.Errorf("rank %d tells of %d peers, want 2", c.Rank(), len(ps))
			}
			for _, p := range ps {
				told = append(told, p.Rank)
			}
		}
		slices.Sort(told)
		if told = slices.Compact(told); len(told) < 4 {
			t.Errorf("rank %d has told of %v only", c.Rank(), told)
		}
		if all := c.job.traffic(mostPeers); len(all) < 4 {
			t.Errorf("rank %d tells of %d peers, want all", c.Rank(), len(all))
		}
		return Barrier(c)
	})
	if err != nil {
		t.Error(err)
	}
}
