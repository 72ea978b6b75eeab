//go:build linux && !fitmpi_portable

package shm

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Join fills in what Probe and ReadProcess need. If others are to read this process's memory, it
// permits its relatives to where the Yama security module asks for that: the parent, which is the
// launcher, and its descendants, which are the peers. Where a shell lies between the launcher and
// this process the permission does not reach the peers, and their Probe fails.
func Join(b *Block, permit bool) {
	if permit {
		// Without Yama this fails, and nothing needs to be permitted.
		unix.Prctl(unix.PR_SET_PTRACER, uintptr(os.Getppid()), 0, 0, 0)
	}
	addr, value := ownCookie()
	b.Cookie.Store(value)
	b.CookieAddr.Store(addr)
	b.PID.Store(int32(os.Getpid()))
}

// Probe is nil if ReadProcess works on the process of b's owner. It reads the owner's cookie: in
// another PID namespace the owner's number may mean another process, or none.
func Probe(b *Block) error {
	pid := int(b.PID.Load())
	if pid == 0 {
		return errors.New("the rank has not joined yet")
	}
	var got [8]byte
	if _, err := ReadProcess(pid, got[:], b.CookieAddr.Load()); err != nil {
		return explain(pid, err)
	}
	if cookieOf(got) != b.Cookie.Load() {
		return fmt.Errorf("process %d here is not the rank's: it has another PID namespace", pid)
	}
	return nil
}

// explain says what to look at.
func explain(pid int, err error) error {
	switch {
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w: see /proc/sys/kernel/yama/ptrace_scope (0, or 1 and ranks started by fitrun itself), "+
			"the container's seccomp profile (CAP_SYS_PTRACE), and that all ranks run as one user", err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%w: the kernel lacks CONFIG_CROSS_MEMORY_ATTACH, or a sandbox hides it", err)
	case errors.Is(err, unix.ESRCH), errors.Is(err, unix.EFAULT):
		return fmt.Errorf("%w: process %d has ended, or the rank's PID namespace is another", err, pid)
	}
	return err
}

// ownCookie is the address and the value of this process's cookie.
var ownCookie = sync.OnceValues(newCookie)

// mostRead is the most that one process_vm_readv is asked for: meanwhile the collector cannot stop
// the caller.
const mostRead = 1 << 20

// Part is a piece of another process's memory that is to be copied.
type Part struct {
	Dst  []byte // where to; not empty
	Addr uint64
	Err  error // what ReadParts says of it
}

// maxParts is how many parts one process_vm_readv is asked for.
const maxParts = 16

// ReadParts copies parts of the memory of process pid, and says what became of each. There is one
// call of the kernel for maxParts of them, which costs as much as to copy several KiB, and one more
// for each that fails. Preconditions: maxParts of them are at most mostRead bytes together.
func ReadParts(pid int, parts []Part) {
	for len(parts) > 0 {
		n := readWhole(pid, parts[:min(len(parts), maxParts)])
		if n == 0 {
			_, parts[0].Err = ReadProcess(pid, parts[0].Dst, parts[0].Addr)
			n = 1
		}
		parts = parts[n:]
	}
}

// readWhole copies parts until one fails, and returns how many are whole.
func readWhole(pid int, parts []Part) (n int) {
	if len(parts) == 1 {
		return 0 // ReadProcess says why it fails, if it does
	}
	got := processReadParts(pid, parts)
	for n < len(parts) && got >= len(parts[n].Dst) {
		raceWrote(parts[n].Dst)
		got -= len(parts[n].Dst)
		parts[n].Err = nil
		n++
	}
	return n
}

// ReadProcess copies len(dst) bytes at addr of process pid to dst. On an error it says how many
// bytes it has copied; others of dst may have changed too. It does not allocate unless it fails.
func ReadProcess(pid int, dst []byte, addr uint64) (int, error) {
	done := 0
	for done < len(dst) {
		part := dst[done:min(len(dst), done+mostRead)]
		n, errno := processRead(pid, part, uintptr(addr+uint64(done)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return done, readError(pid, len(dst), done, errno)
		}
		if n == 0 {
			return done, readError(pid, len(dst), done, io.ErrUnexpectedEOF)
		}
		raceWrote(part[:n])
		done += n
	}
	return done, nil
}

func readError(pid, n, done int, err error) error {
	return fmt.Errorf("reading %d bytes of process %d, after %d: %w", n, pid, done, os.NewSyscallError("process_vm_readv", err))
}
