//go:build linux

package chaos

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/metrics"
	"github.com/fitmpi/fitmpi/mpi"
)

var (
	soakFlag    = flag.Duration("soak.for", 0, "how long the soak lasts; 0: some seconds")
	soakBugFlag = flag.String("soak.bug", "", "a leak of the last rank of each job, for which the soak must fail: see exchange.leak")
)

const (
	soakSamples = 24             // that a process takes, about
	keptBound   = (16 + 3) << 20 // bytes that the pools of a rank may keep: the send buffer and a window for each of three
)

// soaks are the jobs that run side by side in a soak: every transport, with the worker alone and
// with callers that help.
var soaks = []plan{
	{transport: "tcp", policy: "assist", perProcess: 1},
	{transport: "tcp", policy: "worker", perProcess: 1},
	{transport: "shm", policy: "assist", perProcess: 1},
	{transport: "shm", policy: "worker", perProcess: 1},
	{transport: "auto", policy: "assist", perProcess: 3}, // threads
	{transport: "auto", policy: "worker", perProcess: 2}, // some share memory, some do not
}

// TestSoak: mixed traffic at full load, as long as the flag says, and nothing that a process holds
// grows.
func TestSoak(t *testing.T) {
	effort.Need(t, effort.Usual, "it loads the machine for seconds")
	d := *soakFlag
	if d == 0 {
		d = 6 * time.Second
	}
	var wg sync.WaitGroup
	fitrunPath(t)
	for i, p := range soaks {
		p.seed, p.ranks, p.scale, p.start, p.bound, p.left = uint64(i+1), 3, 10, startBound, endBound, leftBound
		wg.Go(func() { soakOne(t, p, d) })
	}
	wg.Wait()
}

// leastSamples is of how many samples it is said whether something grows.
const leastSamples = soakSamples / 4

// enoughSamples waits until every process has taken as many, which takes a busy machine longer than
// the time of a soak, or until the job has ended.
func enoughSamples(r *run, _ fault) bool {
	for until := time.Now().Add(r.plan.bound); time.Now().Before(until) && r.pause(10*time.Millisecond); {
		enough := true
		for q := 0; q < r.plan.ranks; q += r.plan.perProcess {
			enough = enough && len(r.control.samplesOf(q)) >= leastSamples
		}
		if enough {
			break
		}
	}
	return true
}

// soakOne runs a job for a time and checks its samples.
func soakOne(t *testing.T, p plan, d time.Duration) {
	t.Helper()
	p.soak = d
	p.faults = []fault{{kind: &kind{"nothing", harmless, false, false, enoughSamples}, after: d}}
	r := runPlan(t, p, *soakBugFlag, 0)
	what := fmt.Sprintf("%s, %s, %d ranks in a process", p.transport, p.policy, p.perProcess)
	bad := r.classify().bad
	var messages, epochs uint64
	for q, e := range r.control.lasts(p.ranks) {
		if e != nil {
			messages += e.Received
			epochs = uint64(e.Epochs)
		}
		if q%p.perProcess == 0 {
			samples := r.control.samplesOf(q)
			if len(samples) < leastSamples {
				bad = append(bad, fmt.Sprintf("rank %d has taken %d samples", q, len(samples)))
				continue
			}
			for _, g := range growth(samples) {
				bad = append(bad, fmt.Sprintf("rank %d: %s", q, g))
			}
			if kept := mostKept(samples); kept > float64(p.perProcess*keptBound) {
				bad = append(bad, fmt.Sprintf("rank %d: the pools of its process keep %.0f bytes, more than they may", q, kept))
			}
			t.Logf("%s, rank %d: %s", what, q, told(samples))
		}
	}
	t.Logf("%s: %d epochs, %d messages", what, epochs, messages)
	if len(bad) > 0 {
		t.Errorf("%s\n%s\noutput:\n%s", what, join(bad), tail(r.out))
	}
}

// mostKept is the most that pools have kept at any time.
func mostKept(samples []sample) (most float64) {
	for i := range samples {
		most = max(most, samples[i].Kept)
	}
	return most
}

// told is what the samples of a process say, for reading.
func told(samples []sample) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d samples", len(samples))
	for _, q := range quantities {
		first, last := &samples[len(samples)/4], &samples[len(samples)-1]
		fmt.Fprintf(&b, "; %s %.0f to %.0f, growth %.0f", q.name, q.of(first), q.of(last), grows(samples, q.of))
	}
	return b.String()
}

// soak is the load of a soak: the epochs, and churn between them.
func (o *orders) soak(world *mpi.Comm, cs *comms, x *exchange, p *phone) (end report, err error) {
	var s *sampler
	if err := metrics.Register(world.Counters(), registry); err != nil {
		return end, err
	}
	if world.Rank()%o.PerProcess == 0 {
		s = &sampler{time.Now()}
	}
	for last, over := time.Now(), false; !over; end.Epochs++ {
		if end.Epochs == 1 {
			p.say(report{Running: true})
		}
		if err := x.epoch(cs, end.Epochs); err != nil {
			return end, err
		}
		if err := x.churn(cs.all, end.Epochs); err != nil {
			return end, err
		}
		x.leak(world)
		due, err := cs.isOver(time.Since(last) > o.Every || o.Epochs > 0)
		if err != nil {
			return end, err
		}
		if due {
			last = time.Now()
			if err := o.rest(cs, s, p, end.Epochs); err != nil {
				return end, err
			}
		}
		if over, err = cs.isOver(p.stop.Load() || o.Epochs > 0 && end.Epochs >= o.Epochs); err != nil {
			return end, err
		}
	}
	_, err = world.DetachJobBuffer()
	return end, err
}

// What planted bugs have leaked.
var (
	leaked     []*[1 << 10]byte
	leakedList *link
)

// link is 64 bytes.
type link struct {
	next *link
	_    [56]byte
}

// leak is what planted bugs do in each epoch.
func (x *exchange) leak(world *mpi.Comm) {
	switch x.bug {
	case "leak memory":
		for range 400 {
			leaked = append(leaked, new([1 << 10]byte))
		}
	case "leak slowly": // for every hundredth message
		for ; x.links < x.received.Load()/100; x.links++ {
			leakedList = &link{next: leakedList}
		}
	case "leak goroutines":
		go func() { select {} }()
	case "leak descriptors":
		syscall.Open(os.DevNull, syscall.O_RDONLY, 0)
	case "leak requests":
		mpi.Irecv(world, make([]byte, 8), mpi.AnySource, 1<<21)
	}
}

// rest lets all ranks come to rest, and one of each process take a sample.
func (o *orders) rest(cs *comms, s *sampler, p *phone, epoch int) error {
	if err := mpi.Barrier(cs.all); err != nil {
		return err
	}
	if s != nil {
		v, err := s.take(epoch)
		if err != nil {
			return err
		}
		p.say(report{Sample: v})
	}
	return mpi.Barrier(cs.all)
}

// TestGrowthIsFound: a line with noise that grows, one that does not, and one that has only grown
// at its beginning.
func TestGrowthIsFound(t *testing.T) {
	heap := func(of func(i int) float64) func(i int) sample {
		return func(i int) sample { return sample{Heap: of(i)} }
	}
	for _, test := range []struct {
		name  string
		value func(i int) sample
		grows bool
	}{
		{"a leak", heap(func(i int) float64 { return 5e6 + 20e3*float64(i) + 50e3*float64(i%3) }), true},
		{"noise", heap(func(i int) float64 { return 5e6 + 300e3*float64(i%4) }), false},
		{"a cache that fills", heap(func(i int) float64 { return 5e6 + 2e6*float64(min(i, 5)) }), false},
		{"one spike", heap(func(i int) float64 { return 5e6 + 9e6*float64(i/23) }), false},
		{"64 bytes for every hundredth message of 60,000", func(i int) sample {
			return sample{Heap: 8e6 + 64*25*float64(i), Objects: 4700 + 25*float64(i) + 40*float64(i%3)}
		}, true},
	} {
		var samples []sample
		for i := range 24 {
			s := test.value(i)
			s.At = time.Duration(i) * time.Minute
			samples = append(samples, s)
		}
		if got := len(growth(samples)) > 0; got != test.grows {
			t.Errorf("%s: growth is found: %t, want %t", test.name, got, test.grows)
		}
	}
}

// TestSoakFindsGrowth: ranks with planted leaks are found out.
func TestSoakFindsGrowth(t *testing.T) {
	effort.Need(t, effort.Full, "it starts many jobs")
	t.Parallel()
	for bug, want := range map[string]string{
		"leak memory": "heap objects grow", "leak goroutines": "goroutines grow", "leak descriptors": "descriptors grow",
		"leak requests": "operations grow",
	} {
		t.Run(bug, func(t *testing.T) {
			t.Parallel()
			p := quiet(9)
			p.ranks, p.scale, p.soak = 2, 3, 100*time.Millisecond
			r := runPlan(t, p, bug, 30)
			if v := r.classify(); len(v.bad) > 0 {
				t.Fatalf("%s\n%s", join(v.bad), tail(r.out))
			}
			found := strings.Join(growth(r.control.samplesOf(1)), "\n")
			if !strings.Contains(found, want) {
				t.Errorf("what grows is %q, want %q; %s", found, want, told(r.control.samplesOf(1)))
			}
			if found := growth(r.control.samplesOf(0)); len(found) > 0 {
				t.Errorf("rank 0, which leaks nothing: %q", found)
			}
		})
	}
}
