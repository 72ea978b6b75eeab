//go:build linux

package crew

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// GuardArg is the only argument of a fitrun that is to be a guard.
const GuardArg = "--guard-of-another-fitrun"

// tempPrefix begins the name of every temporary directory of fitrun.
const tempPrefix = "fitrun-"

// Guard is fitrun's side of its guard: a process that waits for fitrun's end, however it comes, and then kills the
// process groups that fitrun had not finished with. It learns of them, and of the end, through a pipe:
//
//   - PID    the process group PID exists
//   - PID    it is gone
//     t PATH   this temporary directory exists
//
// A nil Guard is valid and does nothing.
type Guard struct {
	cmd *exec.Cmd // immutable

	mu   sync.Mutex
	pipe *os.File // nil after Close; guarded by mu
}

// StartGuard starts this very program as a guard.
func StartGuard() (*Guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe to the guard: %w", err)
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{os.Args[0], GuardArg}, Stdin: r,
		Env:         append(os.Environ(), "GOMAXPROCS=1"),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // out of reach of the terminal
	}
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("starting the guard: %w", err)
	}
	return &Guard{cmd: cmd, pipe: w}, nil
}

// Watch tells the guard of a process group.
func (g *Guard) Watch(pid int) { g.tell("+ " + strconv.Itoa(pid)) }

// Forget tells the guard that a process group is gone.
func (g *Guard) Forget(pid int) { g.tell("- " + strconv.Itoa(pid)) }

// Temp tells the guard of a directory made by TempDir.
func (g *Guard) Temp(dir string) { g.tell("t " + dir) }

// tell ignores errors: without a guard the job runs as well.
func (g *Guard) tell(line string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe != nil {
		io.WriteString(g.pipe, line+"\n")
	}
}

// PID is the guard's process, 0 if there is none.
func (g *Guard) PID() int {
	if g == nil {
		return 0
	}
	return g.cmd.Process.Pid
}

// Close ends the guard and waits for it. It is idempotent.
func (g *Guard) Close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pipe == nil {
		return nil
	}
	g.pipe.Close()
	g.pipe = nil
	return g.cmd.Wait()
}

// GuardMain is the guard: it reads orders until fitrun closes the pipe or dies, then kills and removes what is left.
func GuardMain(orders io.Reader) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	groups, temps := readOrders(orders)
	for pid := range groups {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
	for _, dir := range temps {
		os.RemoveAll(dir)
	}
}

// readOrders returns the groups and directories that are left at the end. Orders that make no sense are ignored.
func readOrders(r io.Reader) (groups map[int]bool, temps []string) {
	groups = make(map[int]bool)
	for sc := bufio.NewScanner(r); sc.Scan(); {
		verb, arg, _ := strings.Cut(sc.Text(), " ")
		pid, err := strconv.Atoi(arg)
		isGroup := err == nil && pid > 1
		switch {
		case verb == "+" && isGroup:
			groups[pid] = true
		case verb == "-" && isGroup:
			delete(groups, pid)
		case verb == "t" && filepath.IsAbs(arg) && strings.HasPrefix(filepath.Base(arg), tempPrefix):
			temps = append(temps, arg)
		}
	}
	return groups, temps
}

// TempDir makes a temporary directory. The caller removes it.
func TempDir() (string, error) { return os.MkdirTemp("", tempPrefix) }
