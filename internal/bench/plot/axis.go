package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// span is the range of an axis, which grows with the values added to it.
type span struct {
	log      bool
	min, max float64
	values   []float64
}

func newSpan(log bool) *span { return &span{log: log, min: math.Inf(1), max: math.Inf(-1)} }

func (s *span) add(values ...float64) {
	for _, v := range values {
		s.min, s.max = min(s.min, v), max(s.max, v)
	}
	s.values = append(s.values, values[0])
}

// frame gives axis a range a little wider than the values, a scale and ticks. Without
// values the axis is linear, whatever was asked for: a logarithm has no place to start.
func (s *span) frame(axis *plot.Axis) {
	switch {
	case len(s.values) == 0:
		axis.Min, axis.Max = 0, 1
	case s.log:
		s.frameLog(axis)
	default:
		s.frameLinear(axis)
	}
}

func (s *span) frameLinear(axis *plot.Axis) {
	low, high := s.min, s.max
	if low > 0 && low < high/2 {
		low = 0 // the eye compares heights
	}
	pad := max((high-low)*0.04, max(math.Abs(low), math.Abs(high))*1e-3)
	if pad == 0 {
		pad = 1
	}
	axis.Min, axis.Max = low, high+pad
	if low != 0 {
		axis.Min -= pad
	}
	axis.Tick.Marker = linearTicks{}
}

// linearTicks are gonum's, with labels as everywhere here.
type linearTicks struct{}

// Ticks implements plot.Ticker.
func (linearTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, t := range ticks {
		if t.Label != "" {
			ticks[i].Label = number(t.Value)
		}
	}
	return ticks
}

func (s *span) frameLog(axis *plot.Axis) {
	axis.Scale = plot.LogScale{}
	pad := math.Pow(s.max/s.min, 0.03)
	if pad < 1.05 {
		pad = 1.5 // nearly one value: room for a tick around it
	}
	axis.Min, axis.Max = s.min/pad, s.max*pad
	switch {
	case s.binary():
		axis.Tick.Marker = plot.ConstantTicks(binaryTicks(axis.Min, axis.Max))
	case axis.Max < 10*axis.Min:
		axis.Tick.Marker = linearTicks{} // powers of ten would be too far apart
	default:
		axis.Tick.Marker = plot.ConstantTicks(decimalTicks(axis.Min, axis.Max))
	}
}

// binary reports whether most values are powers of two, as sizes and ranks are, which
// then get ticks at powers of two.
func (s *span) binary() bool {
	n := 0
	for _, v := range s.values {
		if frac, _ := math.Frexp(v); frac == 0.5 && v >= 1 {
			n++
		}
	}
	return 2*n > len(s.values)
}

// maxTicks is how many labels stand beside an axis without crowding it.
const maxTicks = 11

// stride is which of n+1 powers in a row get labels, so that these are not too many:
// the powers that it divides. It divides ten, or ten divides it, so 1K and 1M are
// among them.
func stride(n int) int {
	for _, s := range []int{1, 2, 5} {
		if n/s < maxTicks {
			return s
		}
	}
	return 10 * stride(n/10)
}

// binaryTicks labels powers of two between low and high: 1, 32, 1K, 32K, 1M.
func binaryTicks(low, high float64) []plot.Tick {
	first, last := int(math.Ceil(math.Log2(low))), int(math.Floor(math.Log2(high)))
	step := stride(last - first)
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		t := plot.Tick{Value: math.Ldexp(1, e)}
		if e%step == 0 {
			t.Label = bytesLabel(e)
		}
		ticks = append(ticks, t)
	}
	return ticks
}

// bytesLabel writes 2 to the power of e as sizes are written: 64K.
func bytesLabel(e int) string {
	const units = "KMGTPE"
	unit := e/10 - 1
	if e < 10 || unit >= len(units) {
		return strconv.FormatFloat(math.Ldexp(1, e), 'g', 4, 64)
	}
	return strconv.FormatUint(1<<(e%10), 10) + units[unit:unit+1]
}

// decimalTicks labels powers of ten between low and high; where there are few of them,
// also twice and five times that.
func decimalTicks(low, high float64) []plot.Tick {
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	step := stride(last - first)
	few := last-first <= 3
	var ticks []plot.Tick
	for e := first; e <= last; e++ {
		for m := 1; m < 10; m++ {
			t := plot.Tick{Value: float64(m) * math.Pow(10, float64(e))}
			if m == 1 && e%step == 0 || few && (m == 2 || m == 5) {
				t.Label = number(t.Value)
			}
			if t.Value >= low && t.Value <= high && (t.Label != "" || step == 1) {
				ticks = append(ticks, t)
			}
		}
	}
	return ticks
}

// number writes v for people: 0.05, 200, 50k, 2M.
func number(v float64) string {
	size := math.Abs(v)
	unit := ""
	switch {
	case size >= 1e13 || size < 1e3:
	case size >= 1e9:
		v, unit = v/1e9, "G"
	case size >= 1e6:
		v, unit = v/1e6, "M"
	default:
		v, unit = v/1e3, "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64) + unit
}
