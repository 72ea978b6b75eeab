//go:build linux

package web

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
)

// update is what a browser is sent: what differs between two pictures.
type update struct {
	Full   bool           `json:"full,omitempty"` // nothing that was sent before counts any more
	Last   bool           `json:"last,omitempty"` // nothing follows
	Job    jobRow         `json:"job"`
	States map[string]int `json:"states"`
	Ranks  []rankRow      `json:"ranks,omitempty"` // those that changed
	// Cells of the matrix that changed: index (row times columns plus column), and by how much
	// bytes and messages grew.
	Cells  []uint64   `json:"cells,omitempty"`
	Sizes  sizes      `json:"sizes,omitempty"`
	Events []eventRow `json:"events,omitempty"`
}

// eventRow is a line of the log.
type eventRow struct {
	At   int64  `json:"at"`   // milliseconds after the start of the job
	Rank int    `json:"rank"` // place of the rank; -1 if it is the job's
	Who  string `json:"who"`  // name of the rank; "job"
	Text string `json:"text"`
}

// shownEvents is how many events one update has at most, the last ones: also a browser that was
// away for long gets no more.
const shownEvents = 300

// changes is the update that makes prev, nil at first, into cur.
func changes(prev, cur *picture) update {
	u := update{Job: cur.job, States: cur.states, Sizes: cur.sizes}
	if prev == nil || prev.job.Places != cur.job.Places {
		prev, u.Full = new(picture), true
	}
	for i := range cur.ranks {
		if i >= len(prev.ranks) || prev.ranks[i] != cur.ranks[i] {
			u.Ranks = append(u.Ranks, cur.ranks[i])
		}
	}
	u.Cells = cur.matrix.growth(&prev.matrix)
	if slices.Equal(prev.sizes, cur.sizes) {
		u.Sizes = nil
	}
	first := 0
	if n := len(prev.events); n > 0 {
		first = prev.events[n-1].Number + 1
	}
	u.Events = eventRows(cur.eventsSince(first), cur.job.Start)
	return u
}

// growth is by how much cells have grown since prev, which is empty or of the same size.
func (m *matrix) growth(prev *matrix) []uint64 {
	var out []uint64
	for i, c := range m.cells {
		var old cell
		if len(prev.cells) > 0 {
			old = prev.cells[i]
		}
		if c.bytes > old.bytes || c.messages > old.messages {
			out = append(out, uint64(i), c.bytes-min(old.bytes, c.bytes), c.messages-min(old.messages, c.messages))
		}
	}
	return out
}

func eventRows(events []view.Event, start int64) []eventRow {
	events = events[max(0, len(events)-shownEvents):]
	rows := make([]eventRow, 0, len(events))
	for _, e := range events {
		rows = append(rows, eventRow{e.At.UnixMilli() - start, e.Rank, ofWhat(&e), eventText(&e)})
	}
	return rows
}

// ofWhat names what an event is of.
func ofWhat(e *view.Event) string {
	if e.Rank < 0 {
		return "job"
	}
	return rankName(e.World, e.Job)
}

// eventText puts the phases of ranks, which are one word, as sentences.
func eventText(e *view.Event) string {
	if e.Rank >= 0 {
		switch launch.Phase(e.Text) {
		case launch.Started:
			return "process started"
		case launch.Joined:
			return "takes part in the job"
		case launch.Idle:
			return "is idle"
		case launch.Finalizing:
			return "finalizes"
		case launch.Over:
			return "process is gone"
		}
	}
	return e.Text
}

// appendEvent appends the update as a server-sent event. JSON has no line ends, so one data line
// holds it.
func (u *update) appendEvent(b []byte) []byte {
	data, err := json.Marshal(u)
	if err != nil {
		panic("web: bug: " + err.Error()) // numbers and strings only
	}
	b = append(b, "event: job\ndata: "...)
	b = append(b, data...)
	return append(b, "\n\n"...)
}

func itoa(n int) string { return strconv.Itoa(n) }
