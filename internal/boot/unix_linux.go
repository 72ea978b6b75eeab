//go:build !fitmpi_portable

package boot

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// Ranks of one host meet at a Unix socket with an abstract name. It has no file that could be left
// behind. A process that has the connection can ask the kernel which process is at the other end.

// listenLocal listens under the abstract name.
func listenLocal(name string) (net.Listener, error) { return net.Listen("unix", "@"+name) }

// localPair returns both ends of a connection of this process with itself.
func localPair() (here, there net.Conn, err error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	a, b := os.NewFile(uintptr(fds[0]), "rank"), os.NewFile(uintptr(fds[1]), "hub")
	defer a.Close()
	defer b.Close()
	if here, err = net.FileConn(a); err != nil {
		return nil, nil, err
	}
	if there, err = net.FileConn(b); err != nil {
		here.Close()
		return nil, nil, err
	}
	return here, there, nil
}

// sameUser makes sure that a process of this user is at the other end of a Unix socket. It takes
// conn over. Any process may dial an abstract name, and may listen under one that is free.
func sameUser(conn net.Conn) (net.Conn, error) {
	cred, err := peerOf(conn)
	if err == nil && int(cred.Uid) != os.Geteuid() {
		err = fmt.Errorf("process %d at the other end is of user %d, this one of user %d", cred.Pid, cred.Uid, os.Geteuid())
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// peerOf asks the kernel which process made the other end of a Unix socket.
func peerOf(conn net.Conn) (*syscall.Ucred, error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *syscall.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err == nil {
		err = os.NewSyscallError("SO_PEERCRED", credErr)
	}
	if err != nil {
		return nil, err
	}
	return cred, nil
}
