//go:build linux && !fitmpi_portable && !(amd64 || s390x)

package netpoll

import "golang.org/x/sys/unix"

// sysPoll is the system call of [Poller.Poll]; epoll_wait does not exist on most of these
// architectures.
const sysPoll = unix.SYS_EPOLL_PWAIT
