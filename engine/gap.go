package engine

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/netpoll"
)

// The progress gap: how long it takes from the moment that the sleeper in the poller is notified of
// something to do, until it runs. It is notified by callers of the rank, by threads of peers in the
// same process, and by the bell that processes of the same host ring. What arrives from a socket is
// not in it: the kernel does not say when that was. Nor is what arrives while a goroutine drives,
// which the next turn finds.

// TimeClasses is how many classes of durations there are: the k-th ends at 2^(k-30) seconds.
const TimeClasses = 40

// TimeHistogram counts durations by class.
type TimeHistogram struct {
	Counts [TimeClasses]uint64
	Sum    time.Duration
}

// timeHistogram is a TimeHistogram that any goroutine may write to: for what happens seldom.
type timeHistogram struct {
	counts [TimeClasses]atomic.Uint64
	sum    atomic.Int64
}

func (h *timeHistogram) observe(d time.Duration) {
	d = max(d, 0)
	h.counts[timeClass(d)].Add(1)
	h.sum.Add(int64(d))
}

// timeClass is the class of a duration.
func timeClass(d time.Duration) int {
	hi, lo := bits.Mul64(uint64(d), 1<<30)
	ticks, rest := bits.Div64(hi, lo, uint64(time.Second)) // of 2^-30 s
	if rest > 0 {
		ticks++
	}
	if ticks == 0 {
		return 0
	}
	return min(bits.Len64(ticks-1), TimeClasses-1)
}

func (h *timeHistogram) read() (r TimeHistogram) {
	for i := range h.counts {
		r.Counts[i] = h.counts[i].Load()
	}
	r.Sum = time.Duration(h.sum.Load())
	return r
}

// maxGap is more than any gap that is believed: when a bell was rung is a peer's word.
const maxGap = time.Hour

// called is when the sleeper of a waiter was first notified of what it has not looked for yet; 0 if
// it was not.
func (d *driver) called(s *netpoll.Waiter) *atomic.Int64 {
	if s == d.doze {
		return &d.calledAt[1]
	}
	return &d.calledAt[0]
}

// calls notes that the sleeper of a waiter is about to be woken.
func (d *driver) calls(s *netpoll.Waiter) { d.called(s).CompareAndSwap(0, sys.Nanotime()) }

// woken notes that the goroutine that slept in a waiter runs.
func (d *driver) woken(s *netpoll.Waiter) {
	at := d.called(s)
	if at.Load() == 0 {
		return
	}
	if t := at.Swap(0); t != 0 {
		d.e.stats.gaps.observe(time.Duration(sys.Nanotime() - t))
	}
}

// answered notes that we run after our bell was rung.
func (n *local) answered() {
	t := n.block.Rung.Swap(0)
	if d := time.Duration(sys.Monotonic() - int64(t)); t != 0 && d > -time.Millisecond && d < maxGap {
		n.e.stats.gaps.observe(d)
	}
}

// threadTime is how long the worker's thread has run.
type threadTime struct {
	tid  atomic.Int32 // 0 before and after
	last atomic.Int64 // nanoseconds; when it was asked for last
}

func (t *threadTime) begin() { t.tid.Store(int32(sys.ThreadID())) }

func (t *threadTime) end() {
	t.read()
	t.tid.Store(0)
}

func (t *threadTime) read() time.Duration {
	if tid := t.tid.Load(); tid != 0 {
		if d, err := sys.ThreadTime(int(tid)); err == nil && int64(d) > t.last.Load() {
			t.last.Store(int64(d))
		}
	}
	return time.Duration(t.last.Load())
}
