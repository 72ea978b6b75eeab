//go:build linux

package chaos

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// sample is what a process holds while all ranks pause, after collections of garbage.
type sample struct {
	At         time.Duration // since the load began
	Epoch      int
	Heap       float64 // bytes in use, without what the library keeps for reuse
	Kept       float64 // bytes that it keeps: its pools have bounds, and take minutes to fill
	Objects    float64
	Goroutines float64
	Threads    float64
	Files      float64 // descriptors
	Resident   float64 // bytes
	Pools      float64 // bytes in the send buffer, of unexpected messages, and unsent
	Operations float64 // that the library knows: posted, under way, unexpected
}

// quantities of a sample that may not grow, by how much they may seem to over a whole soak, and
// over one that is so short that lists of things for reuse still grow.
var quantities = []struct {
	name         string
	bound, short float64
	of           func(s *sample) float64
}{
	{"heap bytes", 256 << 10, 2 << 20, func(s *sample) float64 { return s.Heap }},
	{"heap objects", 350, 4000, func(s *sample) float64 { return s.Objects }},
	{"goroutines", 3, 3, func(s *sample) float64 { return s.Goroutines }},
	{"threads", 4, 6, func(s *sample) float64 { return s.Threads }},
	{"descriptors", 2, 2, func(s *sample) float64 { return s.Files }},
	{"resident bytes", 12 << 20, 256 << 20, func(s *sample) float64 { return s.Resident }},
	{"bytes in pools", 64 << 10, 64 << 10, func(s *sample) float64 { return s.Pools }},
	{"operations", 8, 8, func(s *sample) float64 { return s.Operations }},
}

// shortSoak is how long they may.
const shortSoak = 50 * time.Second

// grows is by how much a quantity grows over a list of samples: the median slope between any two of
// them (Theil and Sen), which a few odd ones do not move, times the time. The first quarter does
// not count: caches fill then.
func grows(samples []sample, of func(s *sample) float64) float64 {
	rest := samples[len(samples)/4:]
	var slopes []float64
	for i := range rest {
		for j := range i {
			slopes = append(slopes, (of(&rest[i])-of(&rest[j]))/(rest[i].At-rest[j].At).Seconds())
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2] * (rest[len(rest)-1].At - rest[0].At).Seconds()
}

// growth says what grows in a list of samples.
func growth(samples []sample) []string {
	if len(samples) == 0 {
		return nil
	}
	var what []string
	took := samples[len(samples)-1].At - samples[0].At
	for _, q := range quantities {
		bound := q.bound
		if took < shortSoak {
			bound = q.short
		}
		if g := grows(samples, q.of); g > bound {
			what = append(what, fmt.Sprintf("%s grow by %.0f in %v, want at most %.0f", q.name, g, took, bound))
		}
	}
	return what
}

// registry has the gauges of all ranks of this process.
var registry = prometheus.NewRegistry()

// sampler takes the samples of a process.
type sampler struct{ began time.Time }

func (s *sampler) take(epoch int) (*sample, error) {
	runtime.GC()
	debug.FreeOSMemory() // collects what finalizers and pools have let go in the first; what is resident then is in use
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	v := &sample{At: time.Since(s.began), Epoch: epoch, Heap: float64(m.HeapAlloc), Objects: float64(m.HeapObjects), Goroutines: float64(runtime.NumGoroutine())}
	for _, d := range []struct {
		dir string
		n   *float64
	}{{"/proc/self/task", &v.Threads}, {"/proc/self/fd", &v.Files}} {
		names, err := os.ReadDir(d.dir)
		if err != nil {
			return nil, err
		}
		*d.n = float64(len(names))
	}
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil, err
	}
	var size, resident float64
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return nil, err
	}
	v.Resident = resident * float64(os.Getpagesize())
	return v, s.gather(v)
}

// gather reads the library's own gauges.
func (s *sampler) gather(v *sample) error {
	families, err := registry.Gather()
	found := 0
	for _, f := range families {
		var sum *float64
		switch strings.TrimPrefix(f.GetName(), "fitmpi_") {
		case "send_buffer_used_bytes", "unexpected_used_bytes", "early_used_bytes", "unsent_bytes":
			sum = &v.Pools
		case "send_buffer_kept_bytes", "unexpected_kept_bytes":
			sum = &v.Kept
		case "posted_receives", "event_queue_messages", "active_operations", "detached_operations":
			sum = &v.Operations
		default:
			continue
		}
		found++
		for _, m := range f.GetMetric() {
			*sum += m.GetGauge().GetValue()
		}
	}
	if err == nil && found != 10 {
		return fmt.Errorf("%d of the library's 10 gauges are there", found)
	}
	v.Heap -= v.Kept
	return err
}
