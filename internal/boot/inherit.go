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
	conn, err := net.FileConn(f) // a close-on-exec duplicate
	f.Close()                    // before occupy: to close any descriptor of the socket ends that
	if err != nil {
		return nil, fmt.Errorf("this descriptor is not a socket from %s: %w", launcher, err)
	}
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, fmt.Errorf("this descriptor is a %s socket, not the Unix socket of %s", conn.LocalAddr().Network(), launcher)
	}
	if err := occupy(socket); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// occupy makes the socket this process's, by a lock that ends with the connection or the process.
// It fails if another process has it. Where the system knows no such locks, nothing is found.
func occupy(socket *net.UnixConn) error {
	raw, err := socket.SyscallConn()
	if err != nil {
		return err
	}
	var other *syscall.Flock_t // the lock of another process
	err = raw.Control(func(fd uintptr) {
		for other == nil {
			lock := syscall.Flock_t{Type: syscall.F_WRLCK}
			if err := syscall.FcntlFlock(fd, syscall.F_SETLK, &lock); err != syscall.EAGAIN && err != syscall.EACCES {
				return
			}
			if err := syscall.FcntlFlock(fd, syscall.F_GETLK, &lock); err != nil || lock.Type != syscall.F_UNLCK {
				other = &lock
			}
		}
	})
	if err == nil && other != nil {
		err = fmt.Errorf("process %d is this rank already: a rank is one process (sh -c \"prog & prog\" starts two)", other.Pid)
	}
	return err
}
