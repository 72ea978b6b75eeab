package trace

import (
	"fmt"
	"time"
)

// Sample is one look at the clock of another host.
type Sample struct {
	Asked, Answered int64 // on the clock of the process that asks: when it asked, and when it had the answer
	There           int64 // on the other clock, at some moment in between
}

// uncertainty is how wrong it may be to take There for the middle.
func (s Sample) uncertainty() int64 { return (s.Answered - s.Asked + 1) / 2 }

// middle is the moment for which There is taken.
func (s Sample) middle() int64 { return s.Asked + (s.Answered-s.Asked)/2 }

// Best is the sample with the shortest way there and back; false if there is none.
func Best(samples []Sample) (best Sample, ok bool) {
	for _, s := range samples {
		if s.Answered >= s.Asked && (!ok || s.uncertainty() < best.uncertainty()) {
			best, ok = s, true
		}
	}
	return best, ok
}

// Clock is how the clock of a host relates to that of the launcher. The zero value is that of the
// launcher's own host.
type Clock struct {
	Host        string
	At          int64         // on the other clock: the moment for which the rest is said
	Offset      time.Duration // what the other clock shows more
	Drift       float64       // how much faster it runs: seconds in each second
	Uncertainty time.Duration // how wrong a time may be that Local gives, between the first and the last look at the clock
	DriftUnsure float64       // how wrong Drift may be
	DriftKnown  bool          // it was looked at twice, else Drift is 0
}

// Fit makes a clock of the best looks at it at the begin and at the end. Without the last it is
// taken to run as the launcher's.
func Fit(host string, first, last []Sample) (Clock, bool) {
	a, ok := Best(first)
	b, again := Best(last)
	if !ok {
		a, ok, again = b, again, false
	}
	if !ok {
		return Clock{Host: host}, false
	}
	c := Clock{Host: host, At: a.There, Offset: time.Duration(a.There - a.middle()), Uncertainty: time.Duration(a.uncertainty())}
	if elapsed := b.There - a.There; again && elapsed > 0 {
		moved := b.There - b.middle() - int64(c.Offset)
		c.Drift, c.DriftKnown = float64(moved)/float64(elapsed), true
		c.DriftUnsure = float64(a.uncertainty()+b.uncertainty()) / float64(elapsed)
		c.Uncertainty = max(c.Uncertainty, time.Duration(b.uncertainty()))
	}
	return c, true
}

// Local is a time of the other clock on that of the launcher.
func (c *Clock) Local(t int64) int64 {
	return t - int64(c.Offset) - int64(float64(t-c.At)*c.Drift)
}

func (c *Clock) String() string {
	s := fmt.Sprintf("the clock of %s is %v ahead of this host's, within %v", c.Host, c.Offset, c.Uncertainty)
	if c.Offset < 0 {
		s = fmt.Sprintf("the clock of %s is %v behind this host's, within %v", c.Host, -c.Offset, c.Uncertainty)
	}
	if c.DriftKnown {
		return s + fmt.Sprintf(", and gains %.3f ppm on it, within %.3f", c.Drift*1e6, c.DriftUnsure*1e6)
	}
	return s
}
