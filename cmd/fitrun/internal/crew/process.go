//go:build linux

package crew

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// firstFD is the descriptor at which the first rank of a process finds its launcher: the first of
// exec.Cmd.ExtraFiles. Those of the others follow.
const firstFD = 3

// process is a running process. A goroutine that reads a parent-side descriptor of it to its end
// closes that descriptor.
type process struct {
	// immutable after startProcess
	pid            int
	cmd            *exec.Cmd
	links          []*boot.Link // of its ranks
	stdout, stderr *os.File     // read ends
	traces         *trace.Source

	linkEnded []atomic.Bool  // by rank of the process
	joined    []atomic.Int64 // likewise: the process that it says to be; 0 until it has joined

	mu     sync.Mutex
	reaped bool  // pid may belong to another process; guarded by mu
	ended  bool  // it was signalled when it had not begun to exit; guarded by mu
	vigil  vigil // guarded by mu
	paused bool  // with the crew; guarded by mu
}

// startProcess starts plan, with the ranks that infos are for, and mark in its environment.
// Preconditions:
//   - The caller is locked to its thread and stays on it until the process has exited: the parent
//     death signal is sent when the thread that started the process ends, not the process
//     (prctl(2), PR_SET_PDEATHSIG).
func startProcess(plan *Process, mark string, infos []boot.Info, stdin *os.File) (p *process, err error) {
	e := &ends{}
	defer func() {
		closeAll(e.theirs)
		if err != nil {
			closeAll(e.ours)
		}
	}()
	for range infos {
		if err := e.addLink(); err != nil {
			return nil, explainStart(err)
		}
	}
	stdout, stdoutW, err := e.addPipe()
	if err != nil {
		return nil, explainStart(err)
	}
	stderr, stderrW, err := e.addPipe()
	if err != nil {
		return nil, explainStart(err)
	}
	cmd := &exec.Cmd{
		Path: plan.Path, Args: plan.Args, Dir: plan.Dir,
		Env:    append(plan.Env[:len(plan.Env):len(plan.Env)], mark, boot.FDVariable+"="+fdNumbers(len(infos))),
		Stdout: stdoutW, Stderr: stderrW, ExtraFiles: e.rankEnds, // all else is close-on-exec
		SysProcAttr: apart(),
	}
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if err := startBound(cmd, plan.Bound); err != nil {
		return nil, explainStart(err)
	}
	p = &process{
		pid: cmd.Process.Pid, cmd: cmd, linkEnded: make([]atomic.Bool, len(infos)), joined: make([]atomic.Int64, len(infos)),
		stdout: stdout, stderr: stderr,
	}
	for i, info := range infos {
		p.links = append(p.links, boot.NewLink(e.conns[i], info))
	}
	return p, nil
}

// leaveTerminal gives up fitrun's controlling terminal, once.
var leaveTerminal = sync.OnceValue(sys.LeaveTerminal)

// apart makes a process the leader of a group of its own, so that signals from the terminal reach
// fitrun alone; and rank 0 may read the terminal, which is not the controlling one of either. A
// session of its own would do both, and does where fitrun leads one with a terminal. But the kernel
// may give each session a share of the core, and a thread that yields yields to its own session
// only (autogroups, see sched(7)): ranks that share a core could not yield it to each other.
func apart() *syscall.SysProcAttr {
	joined := leaveTerminal()
	return &syscall.SysProcAttr{Setpgid: joined, Setsid: !joined, Pdeathsig: syscall.SIGKILL}
}

// ends are both ends of everything between fitrun and a process that is about to start.
type ends struct {
	conns        []net.Conn // our ends of the links, by rank of the process
	rankEnds     []*os.File // the other ends
	theirs, ours []io.Closer
}

func (e *ends) addLink() error {
	conn, rankEnd, err := linkPair()
	if err != nil {
		return err
	}
	e.conns, e.rankEnds = append(e.conns, conn), append(e.rankEnds, rankEnd)
	e.theirs, e.ours = append(e.theirs, rankEnd), append(e.ours, conn)
	return nil
}

// addPipe makes a pipe that the process is to write.
func (e *ends) addPipe() (r, w *os.File, err error) {
	r, w, err = os.Pipe()
	if err == nil {
		e.theirs, e.ours = append(e.theirs, w), append(e.ours, r)
	}
	return r, w, err
}

// fdNumbers is the value of boot.FDVariable for a process of so many ranks.
func fdNumbers(ranks int) string {
	var b strings.Builder
	for i := range ranks {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(firstFD + i))
	}
	return b.String()
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
	case errors.Is(err, syscall.EFBIG):
		return sys.ExplainLimit(err)
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

// wait waits for the exit of the process, kills what is left of its process group, and reaps it, in
// this order. As long as it is not reaped no other process can have its process group.
func (p *process) wait() (Exit, error) {
	if err := sys.WaitExit(p.pid); err != nil {
		return Exit{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	syscall.Kill(-p.pid, syscall.SIGKILL)
	state, err := p.cmd.Process.Wait()
	p.reaped = true
	if err != nil {
		return Exit{}, err
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return Exit{Signal: status.Signal(), Core: status.CoreDump(), Ended: p.ended}, nil
	}
	return Exit{Code: status.ExitStatus(), Ended: p.ended}, nil
}

// signal sends sig to the process group. Unless that is a signal of the user's, which is not meant
// to end a process, it is what has ended the process if that ends.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return
	}
	own := sys.IsExiting(p.pid)
	err := syscall.Kill(-p.pid, sig) // also when exiting: others of its group may not be
	p.ended = p.ended || err == nil && !own && sig != syscall.SIGUSR1 && sig != syscall.SIGUSR2
}
