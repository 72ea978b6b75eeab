//go:build linux

package launch

import (
	"io"
	"os"

	"github.com/fitmpi/fitmpi/internal/plain"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Text for people is no narrower than fewestColumns, which leaves some words in a line, and no
// wider than mostColumns, beyond which lines are hard to follow.
const (
	fewestColumns = 40
	mostColumns   = 100
)

// hang is how far the lines that a message is broken into are indented.
const hang = 2

// Columns is how wide text for people on w is to be: as the terminal, within limits; 0 if w is
// none.
func Columns(w io.Writer) (columns int) {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	withDescriptor(f, func(fd int) {
		if width, ok := sys.TerminalWidth(fd); ok {
			columns = max(fewestColumns, min(width, mostColumns))
		}
	})
	return columns
}

// Folded is where fitrun writes messages of its own to w, each with one Write. On a terminal their
// lines are broken between words. A file or a pipe gets them as they are, so that what reads them
// finds a message in its line.
func Folded(w io.Writer) io.Writer {
	if columns := Columns(w); columns > 0 {
		return folder{w, columns}
	}
	return w
}

// folder folds what is written.
type folder struct {
	w       io.Writer
	columns int
}

func (f folder) Write(p []byte) (int, error) {
	if _, err := io.WriteString(f.w, plain.Fold(string(p), f.columns, hang)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// HelpText is a text of help as w is to have it.
func HelpText(w io.Writer, text string) string {
	columns := Columns(w)
	if columns == 0 {
		columns = mostColumns
	}
	return plain.Refold(text, columns)
}
