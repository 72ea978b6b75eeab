//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// progress shows on a terminal, in one line, how far a test is. It belongs to one rank.
type progress struct {
	w     io.Writer // nil: show nothing
	last  time.Time // when it showed something; zero: never
	shown bool      // there is a line to clear
}

// progressEvery keeps the terminal from taking part in what is measured.
const progressEvery = 200 * time.Millisecond

// newProgress shows on w if that is a terminal.
func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return &progress{}
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return &progress{}
	}
	return &progress{w: w}
}

// show replaces what is shown, unless that is news still.
func (p *progress) show(line string) {
	if p.w == nil || time.Since(p.last) < progressEvery {
		return
	}
	fmt.Fprint(p.w, clearLine+line)
	p.last, p.shown = time.Now(), true
}

// clear removes what is shown, before the results come.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, clearLine)
		p.shown = false
	}
}

const clearLine = "\r\x1b[K"
