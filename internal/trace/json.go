package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// Tracks of a rank, which to the viewers are threads: numbers from the first on.
const (
	trackRoom       = 16 // tracks that one kind of thing may need, but for calls, and but for the last
	regionTrack     = 1
	callTrack       = 20
	collectiveTrack = callTrack + Slots
	sendTrack       = collectiveTrack + trackRoom + 1
	receiveTrack    = sendTrack + trackRoom + 1
	workerTrack     = receiveTrack + trackRoom + 1
	tracks          = 256
)

// pid is the rank's number among processes, which begin at 1: some viewers take 0 for the idle one.
func (c *converter) pid() int { return c.rec.Number() + 1 }

// tid is the number of a track. It is the only one of that number in the trace: viewers differ in
// whether threads of two processes may have the same.
func (c *converter) tid(track int) int { return c.pid()*tracks + track }

// describe writes the names of the rank.
func (c *converter) describe() {
	name := "rank " + c.nameOfRank(c.rec.Number())
	if h := c.rec.Host; h != "" {
		name += " (" + h + ")"
	}
	c.event(`"ph":"M","name":"process_name","pid":%d,"args":{"name":%s}`, c.pid(), quoted(name))
	c.event(`"ph":"M","name":"process_sort_index","pid":%d,"args":{"sort_index":%d}`, c.pid(), c.rec.Number())
}

// track writes the name of a track.
func (c *converter) track(track int, name string) {
	c.event(`"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":%s}`, c.pid(), c.tid(track), quoted(name))
	c.event(`"ph":"M","name":"thread_sort_index","pid":%d,"tid":%d,"args":{"sort_index":%d}`, c.pid(), c.tid(track), track)
}

// slice writes something that took its time.
func (c *converter) slice(track int, category, name string, begin, length int64, args arguments) {
	from := c.clock.Local(begin)
	to := c.clock.Local(begin + length)
	c.event(`"ph":"X","cat":%q,"name":%s,"pid":%d,"tid":%d,"ts":%s,"dur":%s%s`,
		category, quoted(name), c.pid(), c.tid(track), micros(from-c.zero), micros(max(to-from, 1)), args)
}

// flow writes the begin ('s') or the end ('f') of the flow of a message, within the slice that was
// written last.
func (c *converter) flow(track int, phase byte, id uint64, at int64) {
	binding := ""
	if phase == 'f' {
		binding = `,"bp":"e"`
	}
	c.event(`"ph":"%c","cat":"message","name":"message","id":"%#x","pid":%d,"tid":%d,"ts":%s%s`,
		phase, id, c.pid(), c.tid(track), micros(c.clock.Local(at)-c.zero), binding)
}

// micros writes nanoseconds as microseconds.
func micros(ns int64) string {
	sign := ""
	if ns < 0 {
		sign, ns = "-", -ns
	}
	return fmt.Sprintf("%s%d.%03d", sign, uint64(ns)/1000, uint64(ns)%1000)
}

// event writes one event of the trace.
func (c *converter) event(format string, args ...any) {
	if c.some {
		c.put(",")
	}
	c.some = true
	c.put("\n{")
	if c.err == nil {
		_, c.err = fmt.Fprintf(c.w, format, args...)
	}
	c.put("}")
}

func (c *converter) put(s string) {
	if c.err == nil {
		_, c.err = c.w.WriteString(s)
	}
}

// quoted is s as JSON.
func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("trace: a string that cannot be written: " + err.Error())
	}
	return string(b)
}

func itoa(n int) string { return strconv.Itoa(n) }

// arguments are what a slice says of itself, in order. Values are numbers, strings or bool.
type arguments struct{ text []byte }

func (a *arguments) add(name string, value any) {
	b, err := json.Marshal(value)
	if err != nil {
		panic("trace: an argument that cannot be written: " + err.Error())
	}
	if a.text != nil {
		a.text = append(a.text, ',')
	}
	a.text = append(append(append(a.text, quoted(name)...), ':'), b...)
}

func (a arguments) String() string {
	if a.text == nil {
		return ""
	}
	return `,"args":{` + string(a.text) + "}"
}

// clockNote is what is said of a clock at the end of the trace.
type clockNote struct {
	Host             string
	OffsetNS         int64
	UncertaintyNS    int64
	DriftPPM         float64
	DriftUnsurePPM   float64
	DriftKnown       bool
	MeasuredAtOfHost int64
}

// otherData writes what is to be said of the whole trace.
func (c *converter) otherData(interrupted bool) {
	var clocks []clockNote
	for _, host := range sortedKeys(c.job.Clocks) {
		k := c.job.Clocks[host]
		clocks = append(clocks, clockNote{host, int64(k.Offset), int64(k.Uncertainty), k.Drift * 1e6, k.DriftUnsure * 1e6, k.DriftKnown, k.At})
	}
	b, err := json.Marshal(map[string]any{
		"program":     "FitMPI",
		"clock":       "CLOCK_MONOTONIC of the host of fitrun; times of other hosts were corrected by the offset and the drift of their clocks",
		"clocks":      clocks,
		"ranks":       c.ranks,
		"notes":       c.job.Notes,
		"interrupted": interrupted,
		"flows":       c.sum.Flows,
	})
	if err != nil {
		panic("trace: " + err.Error())
	}
	c.put(string(b))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
