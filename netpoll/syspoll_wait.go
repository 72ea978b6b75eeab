//go:build linux && !fitmpi_portable && (amd64 || s390x)

package netpoll

import "golang.org/x/sys/unix"

// sysPoll is the system call of [Poller.Poll]. epoll_wait takes an eighth less time than
// epoll_pwait, which looks at its signal mask even where there is none; newer architectures do not
// have it.
const sysPoll = unix.SYS_EPOLL_WAIT
