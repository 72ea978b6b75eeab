package hang

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

var sprintf = fmt.Sprintf

func hex(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

// mostIntervals is how many intervals of ranks are written out.
const mostIntervals = 12

// intervals puts ascending numbers for people: "3", "0-2, 5".
func intervals(ns []int) string {
	var parts []string
	for i := 0; i < len(ns); {
		k := i
		for k+1 < len(ns) && ns[k+1] == ns[k]+1 {
			k++
		}
		if len(parts) == mostIntervals {
			return strings.Join(parts, ", ") + sprintf(" and %d more", len(ns)-i)
		}
		if k == i {
			parts = append(parts, strconv.Itoa(ns[i]))
		} else {
			parts = append(parts, sprintf("%d-%d", ns[i], ns[k]))
		}
		i = k + 1
	}
	return strings.Join(parts, ", ")
}

// count puts a number before a noun: "1 message", "3 messages".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return sprintf("%d %ss", n, noun)
}

// bytesText is a number of bytes for people, exactly if it is small.
func bytesText(n int) string {
	switch {
	case n < 10_000:
		return sprintf("%d B", n)
	case n < 1<<20:
		return sprintf("%.4g KiB", float64(n)/(1<<10))
	default:
		return sprintf("%.4g MiB", float64(n)/(1<<20))
	}
}

// seconds is a time for people.
func seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return sprintf("%d ms", d.Milliseconds())
	case d < 2*time.Minute:
		return sprintf("%.1f s", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

// span is times from one to the other.
func span(least, most time.Duration) string {
	if a, b := seconds(least), seconds(most); a != b {
		return "for " + a + " to " + b
	}
	return "for " + seconds(most)
}

// wording puts what ranks do into words.
type wording struct {
	job  *Job
	dir  string // of Job
	self int    // the rank spoken of, if peers are named by where they are from it; else -1
}

// at names the line of a call, to follow its name or what is said of it.
func (s *wording) at(line string) string {
	if line == "" {
		return ""
	}
	return " at " + s.line(line)
}

// aside names the line where an operation was begun that is waited for elsewhere.
func (s *wording) aside(line string) string {
	if line == "" {
		return ""
	}
	return " (" + s.line(line) + ")"
}

// comma puts a comma before what is not empty.
func comma(text string) string {
	if text == "" {
		return ""
	}
	return "," + text
}

func (s *wording) line(line string) string {
	if s.dir != "" {
		if rel, err := filepath.Rel(s.dir, line); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return line
}

// peers names other ranks.
func (s *wording) peers(ranks []int) string {
	if len(ranks) == 1 && ranks[0] < 0 {
		return "any rank"
	}
	if len(ranks) == 1 && s.self >= 0 && s.isMate(ranks[0]) {
		switch d := ranks[0] - s.self; {
		case d == 0:
			return "itself"
		case d < 0:
			return sprintf("rank r-%d", -d)
		default:
			return sprintf("rank r+%d", d)
		}
	}
	return s.job.Names(ranks)
}

// isMate reports whether a rank is of the job of the one that is spoken of, so that it can be named
// by where it is from that. Places of the ranks of a job may lie apart where it was spawned.
func (s *wording) isMate(r int) bool {
	job, rank := s.job.of(r)
	own, self := s.job.of(s.self)
	return r < len(s.job.Ranks) && job == own && rank-self == r-s.self
}

// op is an operation with some ranks, which are many if many operations are alike but for that.
func (s *wording) op(name string, o *telemetry.Operation, comm string, ranks []int) string {
	tag := "any tag"
	if o.Tag >= 0 {
		tag = sprintf("tag %d", o.Tag)
	}
	with := s.peers(ranks)
	switch o.Kind {
	case telemetry.Send:
		text := sprintf("to %s, %s, %s, %s", with, tag, bytesText(o.Bytes), comm)
		if name == "" { // its sender has gone on
			return text
		}
		return name + " " + text
	case telemetry.Receive:
		if o.Bytes >= 0 {
			tag += ", room for " + bytesText(o.Bytes)
		}
		return sprintf("%s from %s, %s, %s", name, with, tag, comm)
	case telemetry.Probe:
		return sprintf("%s from %s, %s, %s", name, with, tag, comm)
	case telemetry.Collective:
		if o.Op == finalizeOp {
			return finalizeOp
		}
		return sprintf("%s, collective %d of %s", name, o.Tag, comm)
	case telemetry.Agreement:
		return sprintf("%s of %s", name, comm)
	case telemetry.Parts:
		return sprintf("%s %s, %s, %s, %s, %s", name, partsWith(o, with), tag, bytesText(o.Bytes), comm, partsLeft(o))
	case telemetry.General:
		return name + ", which the program itself must complete"
	case telemetry.Flush:
		if len(o.To) == 0 {
			return name + " of a buffer with messages that are being moved"
		}
		return sprintf("%s of a buffer with messages to %s", name, s.job.Names(o.To))
	default:
		return sprintf("%s with %s, %s, %s", name, with, tag, comm)
	}
}

func partsWith(o *telemetry.Operation, with string) string {
	if o.Sends {
		return "to " + with
	}
	return "from " + with
}

func partsLeft(o *telemetry.Operation) string {
	if o.Sends && o.NotReady > 0 {
		return count(o.NotReady, "partition") + " not made ready"
	}
	return count(o.Left, "partition") + " not there"
}

// kindName is what an operation is called beside the call that made it and waits for it.
func kindName(k telemetry.Kind) string {
	switch k {
	case telemetry.Receive:
		return "receive"
	case telemetry.General:
		return "generalized request"
	default:
		return string(k)
	}
}
