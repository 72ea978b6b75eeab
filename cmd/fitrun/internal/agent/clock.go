//go:build linux

package agent

import (
	"context"
	"fmt"
	"sync"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// looks are those of a client at the clock of its host.
type looks struct {
	mu     sync.Mutex
	number int               // of the last; guarded by mu
	asked  int64             // when; guarded by mu
	answer chan trace.Sample // of capacity 1: where Look waits for the last one, nil if it does not; guarded by mu
}

// Look looks at the clock of the host a number of times, one after the other, until ctx ends. It
// may do so before the job and after it. The agent answers as soon as it reads the question, so the
// shortest way there and back says most.
func (c *Client) Look(ctx context.Context, times int) []trace.Sample {
	var samples []trace.Sample
	for range times {
		if c.isLost() {
			break
		}
		number, answer := c.looks.begin()
		c.send(kindClock, clock{Number: number})
		select {
		case s := <-answer:
			samples = append(samples, s)
		case <-ctx.Done():
			return samples
		}
	}
	return samples
}

func (c *Client) isLost() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost != nil
}

func (l *looks) begin() (number int, answer <-chan trace.Sample) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ch := make(chan trace.Sample, 1)
	l.number++
	l.asked, l.answer = sys.Monotonic(), ch
	return l.number, ch
}

// answered takes an answer. One that comes too late is dropped.
func (l *looks) answered(a clock) error {
	now := sys.Monotonic()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case a.Number > l.number || a.Number < 1 || a.Now < 0:
		return fmt.Errorf("an answer to look %d at its clock, of %d", a.Number, l.number)
	case a.Number == l.number && l.answer != nil:
		l.answer <- trace.Sample{Asked: l.asked, Answered: now, There: a.Now}
		l.answer = nil
	}
	return nil
}
