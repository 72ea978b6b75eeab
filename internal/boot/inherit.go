//go:build linux && !fitmpi_portable

package boot

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"
)

// inherit takes over the descriptor with the number in value, which must be a stream socket that
// launcher left open. It looks before it touches: a stale number may belong to the Go runtime or to
// the user by now.
func inherit(value, launcher string) (net.Conn, error) {
	fd, err := strconv.Atoi(value)
	if err != nil || fd < 3 {
		return nil, errors.New("want the number of an inherited descriptor, 3 or more")
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, fmt.Errorf("no such descriptor (%w): the program was not started by %s itself, or something between closed it", err, launcher)
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFSOCK {
		return nil, fmt.Errorf("this descriptor is not a socket from %s", launcher)
	}
	f := os.NewFile(uintptr(fd), launcher)
	defer f.Close()
	conn, err := net.FileConn(f) // a close-on-exec duplicate
	if err != nil {
		return nil, fmt.Errorf("this descriptor is not a socket from %s: %w", launcher, err)
	}
	if _, ok := conn.(*net.UnixConn); !ok {
		conn.Close()
		return nil, fmt.Errorf("this descriptor is a %s socket, not the Unix socket of %s", conn.LocalAddr().Network(), launcher)
	}
	return conn, nil
}
