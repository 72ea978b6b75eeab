//go:build linux

package summary

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

const (
	// mostRows is up to how many ranks each have a row.
	mostRows = 32
	// extremes is how many of the ranks that waited least, and most, have a row if not all do.
	extremes = 4
	// mostJobs is up to how many spawned jobs are shown.
	mostJobs = 8
	// Width is at most how long lines of prose are where no terminal says otherwise.
	Width = 118
)

// WriteText writes the summary for people: a table, and what would help, in lines of at most width.
func (s *Summary) WriteText(w io.Writer, width int) error {
	var b strings.Builder
	s.one(&b, width)
	shown := s.Spawned[:min(len(s.Spawned), mostJobs)]
	for _, spawned := range shown {
		spawned.one(&b, width)
	}
	if n := len(s.Spawned) + s.Forgotten - len(shown); n > 0 {
		fold(&b, "fitrun: ", fmt.Sprintf("%d more spawned jobs: --summary-file has the last of them", n), width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// one writes the summary of one job.
func (s *Summary) one(b *strings.Builder, width int) {
	s.head(b)
	s.table(b)
	s.notes(b, width)
	s.findings(b, width)
}

// reported is the rows of ranks that have reported something.
func (s *Summary) reported() []*Row {
	var rows []*Row
	for i := range s.Ranks {
		if s.Ranks[i].State != Silent {
			rows = append(rows, &s.Ranks[i])
		}
	}
	return rows
}

func (s *Summary) head(b *strings.Builder) {
	var time, waiting, messages, bytes float64
	for _, r := range s.reported() {
		time, waiting = time+r.Seconds, waiting+min(r.Waiting, r.Seconds)
		messages, bytes = messages+float64(r.Messages), bytes+float64(r.Sent)
	}
	ranks := "1 rank"
	if n := len(s.Ranks); n != 1 {
		ranks = fmt.Sprintf("%d ranks", n)
	}
	if s.Job != "" {
		ranks = "spawned " + s.Job + ": " + ranks
	}
	fmt.Fprintf(b, "fitrun: %s, %s", ranks, Duration(s.Seconds))
	if time > 0 {
		fmt.Fprintf(b, ", %s of the time waiting, %s messages, %s", Percent(share(waiting, time)), Count(messages), Bytes(bytes))
	}
	b.WriteByte('\n')
}

// columns are those of the table.
var columns = []struct {
	name string
	of   func(r *Row) string
	by   func(r *Row) float64 // what orders it
}{
	{"time", func(r *Row) string { return Duration(r.Seconds) }, func(r *Row) float64 { return r.Seconds }},
	{"waiting", func(r *Row) string { return Duration(r.Waiting) }, func(r *Row) float64 { return r.Waiting }},
	{"", func(r *Row) string { return Percent(r.WaitingShare()) }, (*Row).WaitingShare},
	{"overlap", overlap, func(r *Row) float64 { return r.Overlap }},
	{"messages", func(r *Row) string { return Count(float64(r.Messages)) }, func(r *Row) float64 { return float64(r.Messages) }},
	{"sent", func(r *Row) string { return Bytes(float64(r.Sent)) }, func(r *Row) float64 { return float64(r.Sent) }},
	{"received", func(r *Row) string { return Bytes(float64(r.Received)) }, func(r *Row) float64 { return float64(r.Received) }},
	{"peak buffer", func(r *Row) string { return Bytes(float64(r.PeakBuffer)) }, func(r *Row) float64 { return float64(r.PeakBuffer) }},
	{"peak memory", memory, func(r *Row) float64 { return float64(r.PeakMemory) }},
}

func overlap(r *Row) string {
	if r.Overlap < 0 {
		return "-"
	}
	return Percent(r.Overlap)
}

func memory(r *Row) string {
	if r.Process != r.Rank {
		return fmt.Sprintf("with %d", r.Process)
	}
	return Bytes(float64(r.PeakMemory))
}

// table is the rows, in columns.
func (s *Summary) table(b *strings.Builder) {
	reported := s.reported()
	if len(reported) == 0 {
		return
	}
	head := []string{"rank"}
	for _, c := range columns {
		head = append(head, c.name)
	}
	lines := [][]string{head}
	if len(s.Ranks) <= mostRows {
		for i := range s.Ranks {
			lines = append(lines, line(&s.Ranks[i]))
		}
	} else {
		lines = append(lines, s.condensed(reported)...)
	}
	if slices.ContainsFunc(s.Ranks, func(r Row) bool { return r.Host != s.Ranks[0].Host }) && len(s.Ranks) <= mostRows {
		lines[0] = append(lines[0], "host")
		for i := range s.Ranks {
			lines[i+1] = append(lines[i+1], s.Ranks[i].Host)
		}
	}
	align(b, lines)
}

// line is the row of a rank.
func line(r *Row) []string {
	name := fmt.Sprint(r.Rank)
	if r.State == Broken {
		name += "*"
	}
	cells := []string{name}
	for _, c := range columns {
		if r.State == Silent {
			cells = append(cells, "?")
		} else {
			cells = append(cells, c.of(r))
		}
	}
	return cells
}

// condensed is the least, middle and greatest of each column, and the rows of the ranks that waited
// least and most.
func (s *Summary) condensed(reported []*Row) [][]string {
	lines := [][]string{{"min"}, {"median"}, {"max"}}
	for _, c := range columns {
		rows := slices.Clone(reported)
		slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(c.by(a), c.by(b)) })
		for i, at := range []int{0, (len(rows) - 1) / 2, len(rows) - 1} {
			r := *rows[at]
			r.Process = r.Rank // whose memory it is does not matter here
			lines[i] = append(lines[i], c.of(&r))
		}
	}
	rows := slices.Clone(reported)
	slices.SortStableFunc(rows, func(a, b *Row) int { return cmp.Compare(a.WaitingShare(), b.WaitingShare()) })
	n := min(extremes, len(rows)/2)
	for _, r := range slices.Concat(rows[:n], rows[len(rows)-n:]) {
		lines = append(lines, line(r))
	}
	return lines
}

// align writes lines of cells in columns, aligned at the right but for the host's.
func align(b *strings.Builder, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, l := range lines {
		for i, cell := range l {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	for _, l := range lines {
		for i, cell := range l {
			switch {
			case i > len(columns):
				b.WriteString("  " + cell)
			case i == 0:
				fmt.Fprintf(b, "  %*s", widths[i], cell)
			default:
				fmt.Fprintf(b, "  %*s", widths[i], cell)
			}
		}
		b.WriteByte('\n')
	}
}

// notes says what the marks in the table mean.
func (s *Summary) notes(b *strings.Builder, width int) {
	var broken, silent []int
	for i := range s.Ranks {
		switch r := &s.Ranks[i]; r.State {
		case Broken:
			broken = append(broken, r.Rank)
		case Silent:
			silent = append(silent, r.Rank)
		}
	}
	if len(broken) > 0 {
		prose(b, "* ", fmt.Sprintf("%s did not finish: what is said of %s is what %s reported last.", names(broken), one(broken, "it", "them"), one(broken, "it", "they")), width)
	}
	if len(silent) > 0 && len(silent) < len(s.Ranks) {
		prose(b, "? ", fmt.Sprintf("%s reported nothing.", names(silent)), width)
	}
}

func one(ranks []int, singular, plural string) string {
	if len(ranks) == 1 {
		return singular
	}
	return plural
}

// findings says what would help.
func (s *Summary) findings(b *strings.Builder, width int) {
	if len(s.Findings) > 0 {
		b.WriteString("What would help most:\n")
	}
	for i, f := range s.Findings {
		prose(b, fmt.Sprintf("%d. ", i+1), fmt.Sprintf("%s, %s of the ranks' time: %s %s", f.Kind, Percent(f.Share), f.Text, f.Advice), width)
	}
	if s.Note != "" {
		fold(b, "", s.Note, width)
	}
}

// prose writes a mark and text in lines of at most width, indented by two and behind the mark.
func prose(b *strings.Builder, mark, text string, width int) { fold(b, "  "+mark, text, width) }

// fold writes text behind lead in lines of at most width.
func fold(b *strings.Builder, lead, text string, width int) {
	b.WriteString(lead)
	at := len(lead)
	indent := at
	for i, word := range strings.Fields(text) {
		n := len([]rune(word))
		switch {
		case i == 0:
		case at+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	b.WriteByte('\n')
}
