//go:build linux

package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Binary is a build of fitrun.
type Binary struct {
	Path string
	Sum  string // SHA-256 of the file, in hexadecimal
	Size int64
}

// prologue is what runs on a host before an agent does: it says which machine it is, is told which
// binary it shall run, and asks for that if it does not have it. It is one line, because a login
// shell that is no relative of sh passes that on unchanged, and it has no single quotes. head reads
// no more than it is to, as nothing follows the binary until the agent has spoken.
var prologue = strings.Join([]string{
	`umask 077`,
	`echo ` + marker + ` $(uname -s) $(uname -m)`,
	`read -r sum size args || exit 1`,
	`c=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/fitmpi`,
	// In a directory that all users may write, others may have made the one of this name, or a
	// link. So go there first, see whose it is, and from then on call it by where it is: no other
	// user can move away a directory of this user.
	`mkdir -p "$c/$sum" 2>/dev/null && chmod 700 "$c" "$c/$sum" || { t=${TMPDIR:-/tmp}/fitmpi-$(id -u); c=$(mkdir -p "$t" && cd "$t" && test -O . && chmod 700 . && pwd -P) && mkdir -p "$c/$sum" || { echo "$t cannot be used for a copy of fitrun: it must be a directory of this user" >&2; exit 1; }; }`,
	`f=$c/$sum/fitrun; v=; h=no`,
	`if test -x "$f"; then if command -v sha256sum >/dev/null 2>&1; then h=$(sha256sum <"$f"); h=${h%% *}; else v=$sum; h=$sum; fi; fi`,
	`if test "$h" = "$sum"; then echo HAVE; else echo NEED; t=$f.$(uname -n).$$; head -c "$size" >"$t" && test $(wc -c <"$t") -eq "$size" && chmod 700 "$t" && mv -f "$t" "$f" || { rm -f "$t"; echo "fitrun could not be stored in $c (is there room? ulimit -f is $(ulimit -f))" >&2; exit 1; }; fi`,
	`exec "$f" agent --stdio $args $v`,
}, "; ")

const (
	// marker begins the line that the prologue says first; a login shell may have said other things
	// before.
	marker = "FITMPI-AGENT-1"
	// maxNoise is how many bytes of other things there may be.
	maxNoise = 64 << 10
	// exitGrace is how long the command that reaches a host may take to end by itself.
	exitGrace = 2 * time.Second
	// finalReports is how long one may take that has closed its output, and so has something to
	// report before it ends. ssh says why a connection broke when it has cleaned up, which on a
	// loaded machine may be seconds later.
	finalReports = 5 * time.Second
)

// branch is a host that this process reaches itself, and the hosts behind it.
type branch struct {
	// immutable after open
	target Target
	behind []Target  // reached through it
	cmd    *exec.Cmd // nil if an agent listens there
	in     io.WriteCloser
	out    io.ReadCloser
	said   *crew.Tail    // by cmd, on stderr
	exited chan struct{} // closed when cmd has ended; nil without one
	guard  *crew.Guard
	words  time.Duration // finalReports

	conn *conn // set by node.reachGroup before others know the branch
	end  error // how the command ended; after exited is closed

	mu     sync.Mutex
	reaped bool // the command's process group may be another's; guarded by mu
	killed bool // by kill, before it had ended: how it ended then means nothing; guarded by mu
}

// open reaches t by a command.
func open(ctx context.Context, t Target, w Way, binary func(ctx context.Context, arch string) (Binary, error), silence time.Duration, guard *crew.Guard) (*branch, *bufio.Reader, frame, error) {
	left := time.Hour
	if when, ok := ctx.Deadline(); ok {
		left = time.Until(when)
	}
	cmd, err := w.command(t, prologue, left)
	if err != nil {
		return nil, nil, frame{}, err
	}
	b := &branch{target: t, cmd: cmd, said: new(crew.Tail), exited: make(chan struct{}), guard: guard, words: finalReports}
	if err := b.start(); err != nil {
		return nil, nil, frame{}, err
	}
	stop := context.AfterFunc(ctx, b.kill)
	r := bufio.NewReader(b.out)
	facts, err := b.greet(ctx, r, binary, silence)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		b.in.Close()
		err = b.explain(ctx, err)
		b.close()
		return nil, nil, frame{}, err
	}
	return b, r, facts, nil
}

// start starts the command. It ends with this process, by the kernel's doing if need be: its thread
// stays.
func (b *branch) start() error {
	inR, inW, err := os.Pipe()
	if err != nil {
		return err
	}
	defer inR.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		inW.Close()
		return err
	}
	defer outW.Close()
	b.in, b.out = inW, outR
	b.cmd.Stdin, b.cmd.Stdout, b.cmd.Stderr = inR, outW, feeder{b.said}
	b.cmd.WaitDelay = time.Second
	// A session of its own: ^C at the terminal is for fitrun, which ends the job first.
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	begun := make(chan error)
	go func() { // ends with the command, for which close waits
		runtime.LockOSThread() // see Pdeathsig of prctl(2)
		defer runtime.UnlockOSThread()
		err := b.cmd.Start()
		begun <- err
		if err != nil {
			return
		}
		b.reap()
		close(b.exited)
	}()
	if err := <-begun; err != nil {
		b.in.Close()
		b.out.Close()
		return err
	}
	b.guard.Watch(b.cmd.Process.Pid)
	return nil
}

// reap waits for the end of the command, and ends what it has left of its process group before that
// can be another's.
func (b *branch) reap() {
	pid := b.cmd.Process.Pid
	err := sys.WaitExit(pid)
	b.mu.Lock()
	defer b.mu.Unlock()
	syscall.Kill(-pid, syscall.SIGKILL)
	b.guard.Forget(pid)
	b.reaped = true
	b.end = errors.Join(err, b.cmd.Wait())
}

// feeder keeps what the command says on stderr.
type feeder struct{ t *crew.Tail }

func (f feeder) Write(p []byte) (int, error) {
	f.t.Feed(p)
	return len(p), nil
}

// greet speaks with the prologue, and then hears the agent's first frame.
func (b *branch) greet(ctx context.Context, r *bufio.Reader, binary func(ctx context.Context, arch string) (Binary, error), silence time.Duration) (frame, error) {
	system, machine, err := readMarker(r)
	if err != nil {
		return frame{}, err
	}
	if system != "Linux" {
		return frame{}, fmt.Errorf("it runs %s; fitrun is for Linux", system)
	}
	bin, err := binary(ctx, ArchOf(machine))
	if err != nil {
		return frame{}, binaryError{err}
	}
	if _, err := fmt.Fprintf(b.in, "%s %d %v\n", bin.Sum, bin.Size, silence); err != nil {
		return frame{}, err
	}
	answer, err := r.ReadString('\n')
	switch {
	case err != nil:
		return frame{}, err
	case answer == "NEED\n":
		if err := b.upload(bin); err != nil {
			return frame{}, err
		}
	case answer != "HAVE\n":
		return frame{}, fmt.Errorf("its shell answered %.80q, want HAVE or NEED", answer)
	}
	return readFacts(r)
}

// binaryError is that there is no build of fitrun for a host. It says everything, also of a build
// that was not done in time.
type binaryError struct{ error }

// readFacts hears an agent's first frame.
func readFacts(r *bufio.Reader) (frame, error) {
	f, err := readFrame(r)
	if err == nil && f.kind != kindFacts {
		err = fmt.Errorf("its first frame is of kind %d, want %d, what it says of its host", f.kind, kindFacts)
	}
	return f, err
}

func (b *branch) upload(bin Binary) error {
	f, err := os.Open(bin.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.CopyN(b.in, f, bin.Size)
	return err
}

// readMarker skips what a login shell says, and returns what the prologue says.
func readMarker(r *bufio.Reader) (system, machine string, err error) {
	for noise := 0; noise < maxNoise; {
		line, err := r.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		if f := strings.Fields(line); len(f) == 3 && f[0] == marker {
			return f[1], f[2], nil
		}
		noise += len(line)
	}
	return "", "", fmt.Errorf("its login shell says more than %d bytes, and not what it was asked", maxNoise)
}

// explain is why the host was not reached, or lost: what the command said last, if err is no more
// than the end of the conversation. ctx is that of reaching, one that never ends when that is over.
func (b *branch) explain(ctx context.Context, err error) error {
	if none, ok := errors.AsType[binaryError](err); ok {
		return none.error
	}
	isLate := errors.Is(ctx.Err(), context.DeadlineExceeded)
	if !isLate && !isEnd(err) {
		return err
	}
	if !isLate && b.cmd != nil { // the command has closed its output, so it is about to end, and then has said everything
		b.awaitFinalReports(ctx)
	}
	last := b.lastSaid()
	switch {
	case isLate && last != "":
		return fmt.Errorf("%s: %s", lateText, last)
	case isLate:
		return errors.New(lateText)
	case last != "":
		return errors.New(strings.TrimSuffix(last, ".")) // it stands in a sentence
	}
	if b.cmd == nil {
		return errors.New("the connection ended")
	}
	name := filepath.Base(b.cmd.Args[0])
	if b.wasKilled() {
		return fmt.Errorf("the connection ended, and %s did not say why", name)
	}
	select {
	case <-b.exited:
		if e, ok := errors.AsType[*exec.ExitError](b.end); ok {
			return fmt.Errorf("%s ended with %v", name, e)
		}
	default:
	}
	return errors.New("the connection ended")
}

// awaitFinalReports waits until the command has ended, but not for long, nor beyond ctx; false says
// that it has not.
func (b *branch) awaitFinalReports(ctx context.Context) bool {
	t := time.NewTimer(b.words)
	defer t.Stop()
	select {
	case <-b.exited:
		return true
	case <-ctx.Done():
	case <-t.C:
	}
	return false
}

// wasKilled reports whether it was this process that has ended the command.
func (b *branch) wasKilled() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.killed
}

// isEnd reports whether err is no more than the end of a conversation.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, os.ErrClosed)
}

// lastSaid is the last line that is not empty of what the command said on stderr.
func (b *branch) lastSaid() string {
	lines, cause := b.said.Lines()
	if cause != "" {
		return cause
	}
	for i := len(lines) - 1; i >= 0; i-- {
		if s := strings.TrimSpace(lines[i]); s != "" {
			return s
		}
	}
	return ""
}

// cut ends the command after the end of the conversation. One that has ended that itself is about
// to say why.
func (b *branch) cut(why error) {
	if b.cmd != nil && isEnd(why) && b.awaitFinalReports(context.Background()) {
		return
	}
	b.kill()
}

// kill ends the command, or the connection, at once.
func (b *branch) kill() {
	if b.cmd == nil {
		b.out.Close()
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.reaped {
		b.killed = true
		syscall.Kill(-b.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// close ends the command, by the end of its input if it heeds that, and waits for it.
func (b *branch) close() {
	b.in.Close()
	if b.cmd == nil {
		return
	}
	select {
	case <-b.exited:
	case <-time.After(exitGrace):
		b.kill()
		<-b.exited
	}
	b.out.Close()
}
