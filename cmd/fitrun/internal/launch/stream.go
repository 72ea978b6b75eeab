//go:build linux

package launch

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
)

// linesOf is where a stream of process i goes: the terminal of fitrun, or a file of its own.
func (x *runner) linesOf(i int, s crew.Stream, last *crew.Tail) *lines {
	c, to := x.out, x.cfg.Stdout
	if s == crew.Stderr {
		c, to = x.err, x.cfg.Stderr
	}
	marked := x.cfg.Tag || x.cfg.Timestamp
	l := &lines{
		c: c, w: to, tag: x.tagOf(i), tail: last,
		raw:     len(x.job.Processes) == 1 && !marked && x.cfg.outer == nil,
		partial: i == 0 && !marked && isTerminal(to), shown: make(chan struct{}),
	}
	if x.cfg.Timestamp {
		l.now = time.Now
	}
	if x.cfg.OutputDir != "" {
		f := &lateFile{path: x.outputFile(i, s)}
		// A console of its own: no line of another process is ever in the way.
		l.c, l.w, l.file, l.partial = &console{freec: make(chan struct{}), failc: c.failc}, f, f, false
	}
	return l
}

// outputFile is the file of a stream of process i, named by its first rank.
func (x *runner) outputFile(i int, s crew.Stream) string {
	return filepath.Join(x.cfg.OutputDir, fmt.Sprintf("rank.%d", x.job.Processes[i].Ranks[0]), s.String())
}

// makeOutputDirs makes the directories of all output files, so that what cannot be written is said
// before a rank runs.
func (x *runner) makeOutputDirs() error {
	if x.cfg.OutputDir == "" {
		return nil
	}
	for i := range x.job.Processes {
		for _, s := range []crew.Stream{crew.Stdout, crew.Stderr} {
			path := x.outputFile(i, s)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				return fmt.Errorf("--output-filename: %w", err)
			}
			mode := os.O_TRUNC
			if x.job.Attempt > 0 { // what the attempts before have written stays
				mode = os.O_APPEND
			}
			f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o600)
			if err != nil {
				return fmt.Errorf("--output-filename: %w", err)
			}
			f.Close()
		}
	}
	return nil
}

// lateFile is a file of output that is open from its first byte to its end: a job of many ranks may
// have more files than it may open at once, and most ranks write to one of them. It is owned by the
// reader of its crew.Stream.
type lateFile struct {
	path string
	f    *os.File
}

var _ io.WriteCloser = (*lateFile)(nil)

func (l *lateFile) Write(p []byte) (int, error) {
	if l.f == nil {
		f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return 0, err
		}
		l.f = f
	}
	return l.f.Write(p)
}

func (l *lateFile) Close() error {
	if l.f == nil {
		return nil
	}
	return l.f.Close()
}
