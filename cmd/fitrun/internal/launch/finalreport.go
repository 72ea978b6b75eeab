//go:build linux

package launch

import (
	"bytes"
	"strings"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
)

const (
	// lastKept is of how many lines of a stream it is known where on the console they are: as many
	// as are ever repeated.
	lastKept = 10
	// inSight is how many lines may have been shown since a line for it to be on the screen still.
	inSight = 20
)

// utterance is a message of fitrun for runner.speak to write.
type utterance struct {
	text string   // "" is to draw the line of status
	last []string // the last lines of a process on stderr, to be shown behind it unless they are in sight
	from *lines   // that process's stderr, nil if there are no such lines
}

// position is where on its console the last lines of a stream are. Guarded by the console's mu.
type position struct {
	ended int           // lines that were shown with their end
	open  bool          // the start of another is shown
	at    [lastKept]int // the console's number of the line i is at[i%lastKept], of the last ones
}

// noteLocked counts the lines of text, which l shows.
func (c *console) noteLocked(l *lines, text []byte) {
	n := bytes.Count(text, []byte("\n"))
	p := &l.pos
	for i := max(0, n-lastKept); i < n; i++ {
		p.at[(p.ended+i)%lastKept] = c.shown + i
	}
	p.ended += n
	p.open = len(text) > 0 && text[len(text)-1] != '\n'
	c.shown += n
}

// isInSight reports whether the last n lines of l can be seen on c without a look back. If the
// whole stream has come to this machine it waits until that is shown: the news of an exit may
// overtake it.
func (c *console) isInSight(l *lines, n int) bool {
	if l == nil || l.c != c {
		return false
	}
	if l.ended != nil && l.ended() {
		<-l.shown
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := &l.pos
	if p.open {
		n--
	}
	return n <= 0 || n <= min(p.ended, lastKept) && c.shown-p.at[(p.ended-n)%lastKept] <= inSight
}

// whole is the text with the last lines of its process.
func (u utterance) whole() string {
	if len(u.last) == 0 {
		return u.text
	}
	return u.text + ". Its last lines on stderr:\n  " + strings.Join(u.last, "\n  ")
}

// sayOf shows a message about process p whose last lines on stderr are given. They are not repeated
// where they stand just above: a program that ends by log.Fatal would say all it has to say twice.
func (x *runner) sayOf(p int, text string, last []string) {
	x.errsMu.Lock()
	from := x.errs[p]
	x.errsMu.Unlock()
	x.utter(utterance{text: x.cfg.prefix() + text, last: last, from: from})
}

// remember notes which lines are the stderr of process i.
func (x *runner) remember(i int, s crew.Stream, l *lines) {
	if s == crew.Stderr {
		x.errsMu.Lock()
		defer x.errsMu.Unlock()
		x.errs[i] = l
	}
}
