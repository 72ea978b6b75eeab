package main

import (
	"fmt"
	"io"
	"os"
)

// progress shows how far the computation is: on a terminal by one line that changes, elsewhere by
// many.
type progress struct {
	w          io.Writer
	isTerminal bool
	steps      int
	cells      int
}

func newProgress(w io.Writer, o options) *progress {
	return &progress{w: w, isTerminal: isTerminal(w), steps: o.steps}
}

// isTerminal reports whether w may be a terminal with a user before it. A character device is near
// enough.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}

func (p *progress) begin(pl plate, ranks int, c climate) {
	p.cells = pl.width * pl.height
	fmt.Fprintf(p.w, "heat2d: %d x %d cells with insulated edges, %d steps, %s\n",
		pl.width, pl.height, p.steps, plural(ranks, "rank"))
	p.step(0, c)
}

func (p *progress) step(n int, c climate) {
	lead, end := "", "\n"
	if p.isTerminal {
		lead, end = "\r", "\x1b[K" // to the start of the line; erase what is left of the old one
	}
	fmt.Fprintf(p.w, "%sstep %*d of %d: coldest %.4f, hottest %.4f, mean %.4f%s",
		lead, len(fmt.Sprint(p.steps)), n, p.steps, c.Coldest, c.Hottest, c.Heat/float64(p.cells), end)
}

func (p *progress) end() {
	if p.isTerminal {
		fmt.Fprintln(p.w)
	}
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
