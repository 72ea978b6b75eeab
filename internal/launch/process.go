//go:build linux

package launch

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// rankFD is the descriptor at which a rank finds its launcher: the first of exec.Cmd.ExtraFiles.
const rankFD = 3

// process is a running rank. Its parent-side descriptors are closed by whoever reads them to their end.
type process struct {
	// immutable after startProcess
	pid            int
	cmd            *exec.Cmd
	link           *boot.Link
	stdout, stderr *os.File // read ends
	last           *tail    // of stderr

	linkEnded atomic.Bool

	mu     sync.Mutex
	reaped bool // pid may belong to somebody else; guarded by mu
}

// startProcess starts r. Preconditions:
//   - The caller is locked to its thread and stays on it until the process has exited: the parent death signal is sent
//     when the thread that started the process ends, not the process (prctl(2), PR_SET_PDEATHSIG).
func startProcess(r *Rank, stdin *os.File) (p *process, err error) {
	var theirs, ours []io.Closer
	defer func() {
		closeAll(theirs)
		if err != nil {
			closeAll(ours)
		}
	}()
	conn, rankEnd, err := linkPair()
	if err != nil {
		return nil, err
	}
	theirs, ours = append(theirs, rankEnd), append(ours, conn)
	stdout, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	theirs, ours = append(theirs, stdoutW), append(ours, stdout)
	stderr, stderrW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	theirs, ours = append(theirs, stderrW), append(ours, stderr)

	cmd := &exec.Cmd{
		Path: r.Path, Args: r.Args, Dir: r.Dir,
		Env:    append(r.Env[:len(r.Env):len(r.Env)], boot.FDVariable+"="+strconv.Itoa(rankFD)),
		Stdout: stdoutW, Stderr: stderrW, ExtraFiles: []*os.File{rankEnd},
		// A session of its own: signals from the terminal reach fitrun alone, and rank 0 may read the terminal.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL},
	}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if err := cmd.Start(); err != nil {
		return nil, explainStart(err)
	}
	return &process{
		pid: cmd.Process.Pid, cmd: cmd, link: boot.NewLink(conn, r.Info),
		stdout: stdout, stderr: stderr, last: new(tail),
	}, nil
}

func closeAll(cs []io.Closer) {
	for _, c := range cs {
		c.Close()
	}
}

// explainStart adds advice to the errors of exec that need it.
func explainStart(err error) error {
	switch {
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("%w; it is not a program for this machine, or a script without a #! line", err)
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return fmt.Errorf("%w; raise the limit on open files (ulimit -n) or start fewer ranks", err)
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("%w; this machine has no room for so many processes (ulimit -u, memory)", err)
	default:
		return err
	}
}

// linkPair returns the two ends of a fresh link; the second is for a child.
func linkPair() (net.Conn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "rank's link")
	f := os.NewFile(uintptr(fds[0]), "link")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn, theirs, nil
}

// wait waits for the exit of the rank, kills what is left of its process group, and reaps it, in this order: as long as
// the rank is not reaped nobody else can have its process group.
func (p *process) wait() (exit, error) {
	if err := sys.WaitExit(p.pid); err != nil {
		return exit{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	syscall.Kill(-p.pid, syscall.SIGKILL)
	state, err := p.cmd.Process.Wait()
	p.reaped = true
	if err != nil {
		return exit{}, err
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return exit{signal: status.Signal(), core: status.CoreDump()}, nil
	}
	return exit{code: status.ExitStatus()}, nil
}

// signal sends sig to the rank's process group. False: the rank was already on its way out by itself.
func (p *process) signal(sig syscall.Signal) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return false
	}
	own := sys.IsExiting(p.pid)
	err := syscall.Kill(-p.pid, sig) // also when exiting: others of its group may not be
	return err == nil && !own
}

// isGone reports whether the rank has left the job or is on its way out, heard of or not.
func (p *process) isGone() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reaped || p.linkEnded.Load() || sys.IsExiting(p.pid)
}
