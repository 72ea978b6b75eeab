//go:build !linux || fitmpi_portable

package boot

import (
	"bufio"
	"errors"
	"net"
	"os"
)

// Connections carry no descriptors here.

// errNoRights says that a line has named some.
var errNoRights = errors.New("descriptors come from a launcher on Linux only")

// receiver reads lines. It is owned by one goroutine at a time.
type receiver struct {
	lines  *bufio.Reader
	rights *rights // nil
}

func newReceiver(conn net.Conn) receiver {
	return receiver{lines: bufio.NewReaderSize(conn, maxLine)}
}

// rights would keep descriptors. A nil one has the methods.
type rights struct{}

// claim takes the descriptors that a line names: none.
func (r *rights) claim(names []string, wanted ...string) ([]*os.File, error) {
	if len(names) > 0 {
		return nil, errNoRights
	}
	return make([]*os.File, len(wanted)), nil
}

// close has nothing to close.
func (r *rights) close() {}

// sendRights sends none.
func sendRights(*net.UnixConn, []byte, []*os.File) error { return errNoRights }
