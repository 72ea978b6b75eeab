//go:build linux && !fitmpi_portable

package boot

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"syscall"
)

// receiver reads lines, and the descriptors that come with them. It is owned by one goroutine at a
// time.
type receiver struct {
	lines  *bufio.Reader
	rights *rights // nil where the connection cannot carry descriptors
}

func newReceiver(conn net.Conn) receiver {
	if u, ok := conn.(*net.UnixConn); ok {
		r := &rights{conn: u, oob: make([]byte, syscall.CmsgSpace(4*maxPending))}
		return receiver{lines: bufio.NewReaderSize(r, maxLine), rights: r}
	}
	return receiver{lines: bufio.NewReaderSize(conn, maxLine)}
}

// rights reads a Unix socket and keeps the descriptors that come with its bytes (SCM_RIGHTS). The
// kernel hands them out with the first byte that they were sent with, so those of a line are here
// when the line is.
type rights struct {
	conn  *net.UnixConn
	oob   []byte
	files []*os.File // received, not yet claimed, in order
}

// Read implements io.Reader.
func (r *rights) Read(p []byte) (int, error) {
	n, oobn, flags, _, err := r.conn.ReadMsgUnix(p, r.oob) // close-on-exec
	if oobn > 0 {
		if oobErr := r.keep(r.oob[:oobn]); oobErr != nil {
			return 0, oobErr
		}
	}
	if flags&syscall.MSG_CTRUNC != 0 {
		return 0, errors.New("descriptors were lost on the way; raise the limit on open files (ulimit -n)")
	}
	return max(n, 0), err
}

// keep queues the descriptors of one control message.
func (r *rights) keep(oob []byte) error {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("malformed control message: %w", err)
	}
	for _, m := range msgs {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			continue // of another kind
		}
		for _, fd := range fds {
			r.files = append(r.files, os.NewFile(uintptr(fd), "descriptor from fitrun"))
		}
	}
	if len(r.files) > maxPending {
		return fmt.Errorf("%d descriptors came without a line that names them", len(r.files))
	}
	return nil
}

// claim takes the descriptors that a line names, and returns those that are wanted, nil for each
// that is not named. What is named and not wanted is closed. r may be nil.
func (r *rights) claim(names []string, wanted ...string) ([]*os.File, error) {
	files := make([]*os.File, len(wanted))
	if len(names) == 0 {
		return files, nil
	}
	if r == nil || len(r.files) < len(names) {
		return nil, fmt.Errorf("the launcher named %d descriptors and sent fewer", len(names))
	}
	for i, f := range r.files[:len(names)] {
		if w := slices.Index(wanted, names[i]); w >= 0 && files[w] == nil {
			files[w] = f
		} else {
			f.Close()
		}
	}
	r.files = slices.Delete(r.files, 0, len(names))
	return files, nil
}

// close closes the descriptors that were not claimed. r may be nil.
func (r *rights) close() {
	if r != nil {
		closeFiles(r.files...)
		r.files = nil
	}
}

// sendRights writes line with files, of which the kernel makes copies for the reader.
func sendRights(conn *net.UnixConn, line []byte, files []*os.File) error {
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	n, _, err := conn.WriteMsgUnix(line, syscall.UnixRights(fds...), nil)
	if err != nil {
		return err
	}
	_, err = conn.Write(line[n:]) // the descriptors went with the first byte
	return err
}
