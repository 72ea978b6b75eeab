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

	"github.com/fitmpi/fitmpi/internal/boot"
)

// GuardArg is the only argument of a fitrun that is to be a guard.
const GuardArg = "--guard"

// guardName is what a guard is called in lists of processes. A user that ends all that has fitrun
// in its name leaves the guard.
const guardName = "fitmpi-guard"

// tempPrefix begins the name of every temporary directory of fitrun.
const tempPrefix = "fitrun-"

// mostGuards is how many guards a process has after each other, if they are killed.
const mostGuards = 20

// Guard is fitrun's side of its guard. The guard is a process that waits for fitrun's end, however
// it comes. Then it kills the process groups that fitrun had not finished with, and what has left
// them but has a mark of fitrun's in its environment. It learns of them, and of the end, through a
// pipe:
//
//	"+ PID"   the process group PID exists
//	"- PID"   it is gone
//	"m MARK"  processes have NAME=VALUE in their environment
//	"t PATH"  this temporary directory exists
//	"."       fitrun ends, and has killed all that has its marks
//
// A guard that dies is replaced. A nil Guard is valid and does nothing.
type Guard struct {
	watch sync.WaitGroup // waits for keep

	mu     sync.Mutex
	cmd    *exec.Cmd    // the guard that there is; guarded by mu, as all below
	pipe   *os.File     // nil after Close, and when there are no more guards
	groups map[int]bool // that exist
	others []string     // orders that hold for ever
}

// StartGuard starts this very program as a guard.
func StartGuard() (*Guard, error) {
	g := &Guard{groups: make(map[int]bool)}
	if err := g.startLocked(); err != nil { // no other goroutine has it yet
		return nil, err
	}
	g.watch.Go(func() { g.keep(g.cmd) }) // stopped by Close
	return g, nil
}

// startLocked starts a guard and tells it all that there is.
func (g *Guard) startLocked() error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe to the guard: %w", err)
	}
	defer r.Close()
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{guardName, GuardArg}, Stdin: r,
		Env:         append(os.Environ(), "GOMAXPROCS=1"),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true}, // out of reach of the terminal
	}
	known := g.knownLocked()
	before := min(len(known), pipeRoom)
	io.WriteString(w, known[:before]) // now: from its first moment the guard knows it, whatever becomes of us
	if err := cmd.Start(); err != nil {
		w.Close()
		return fmt.Errorf("starting the guard: %w", err)
	}
	io.WriteString(w, known[before:])
	g.cmd, g.pipe = cmd, w
	return nil
}

// pipeRoom is how many bytes a pipe takes for sure while nothing reads them.
const pipeRoom = 4 << 10

// knownLocked is all that holds, as orders.
func (g *Guard) knownLocked() string {
	var b strings.Builder
	for _, line := range g.others {
		b.WriteString(line + "\n")
	}
	for pid := range g.groups {
		fmt.Fprintf(&b, "+ %d\n", pid)
	}
	return b.String()
}

// keep replaces the guard when it dies.
func (g *Guard) keep(cmd *exec.Cmd) {
	for range mostGuards {
		cmd.Wait()
		g.mu.Lock()
		if g.pipe == nil { // Close
			g.mu.Unlock()
			return
		}
		g.pipe.Close()
		g.pipe = nil
		err := g.startLocked()
		cmd = g.cmd
		g.mu.Unlock()
		if err != nil {
			return
		}
	}
	cmd.Wait()
}

// Watch tells the guard of a process group.
func (g *Guard) Watch(pid int) {
	g.tell("+ "+strconv.Itoa(pid), func() { g.groups[pid] = true })
}

// Forget tells the guard that a process group is gone.
func (g *Guard) Forget(pid int) {
	g.tell("- "+strconv.Itoa(pid), func() { delete(g.groups, pid) })
}

// Mark tells the guard that processes will have NAME=VALUE in their environment.
func (g *Guard) Mark(variable string) { g.tellForEver("m " + variable) }

// Temp tells the guard of a directory made by TempDir.
func (g *Guard) Temp(dir string) { g.tellForEver("t " + dir) }

func (g *Guard) tellForEver(line string) { g.tell(line, func() { g.others = append(g.others, line) }) }

// tell ignores errors: without a guard the job runs as well. note remembers what was told, with mu
// held.
func (g *Guard) tell(line string, note func()) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	note()
	g.writeLocked(line)
}

func (g *Guard) writeLocked(line string) {
	if g.pipe != nil {
		io.WriteString(g.pipe, line+"\n")
	}
}

// PID is the guard's process, 0 if there is none.
func (g *Guard) PID() int {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cmd.Process.Pid
}

// Close ends the guard and waits for it: everything that fitrun has started is gone. It is
// idempotent.
func (g *Guard) Close() error {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	if g.pipe != nil {
		if len(g.groups) == 0 {
			g.writeLocked(".")
		}
		g.pipe.Close()
		g.pipe = nil
	}
	g.mu.Unlock()
	g.watch.Wait()
	return nil
}

// orders are what a guard was told.
type orders struct {
	groups map[int]bool
	marks  []string
	temps  []string
	clean  bool // nothing has a mark any more
}

// GuardMain is the guard: it reads orders until fitrun closes the pipe or dies, then kills and
// removes what is left.
func GuardMain(from io.Reader) {
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	o := readOrders(from)
	for pid := range o.groups {
		syscall.Kill(-pid, syscall.SIGKILL)
	}
	if !o.clean && len(o.marks) > 0 {
		sweepMarked(o.marks)
	}
	for _, dir := range o.temps {
		os.RemoveAll(dir)
	}
}

// readOrders returns what holds at the end. Orders that make no sense are ignored.
func readOrders(r io.Reader) orders {
	o := orders{groups: make(map[int]bool)}
	for sc := bufio.NewScanner(r); sc.Scan(); {
		verb, arg, _ := strings.Cut(sc.Text(), " ")
		pid, err := strconv.Atoi(arg)
		isGroup := err == nil && pid > 1
		switch {
		case verb == "+" && isGroup:
			o.groups[pid] = true
		case verb == "-" && isGroup:
			delete(o.groups, pid)
		case verb == "m" && strings.HasPrefix(arg, boot.MarkVariable+"=") && len(arg) > len(boot.MarkVariable)+16:
			o.marks = append(o.marks, arg)
		case verb == "t" && filepath.IsAbs(arg) && strings.HasPrefix(filepath.Base(arg), tempPrefix):
			o.temps = append(o.temps, arg)
		case verb == ".":
			o.clean = true
		}
	}
	return o
}

// TempDir makes a temporary directory. The caller removes it.
func TempDir() (string, error) { return os.MkdirTemp("", tempPrefix) }
