//go:build linux

// Package control is where a running fitrun can be asked by another one, of the same user on the
// same machine. It is a Unix socket in the abstract namespace, named after the process, at which
// one question gets one answer. There is no file that could be left behind, or that another user
// could put in the way. The asker checks by the kernel's word that the process that answers has the
// number that was asked for. That process must belong to the asker's user, unless that user is
// root. The process that answers checks that the asker is of its own user, or of root. Another user
// may take a name in advance; then that fitrun cannot be asked, and nothing else happens.
//
// Questions and answers are one line of JSON each, of bounded length, and have to come in time.
package control

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	version     = 1
	maxQuestion = 4 << 10
	maxAnswer   = 64 << 20
	// mostClients is how many are served at a time; others wait.
	mostClients = 8
	// askWait is how long a question may take to come, and answerWait an answer to be taken.
	askWait    = 5 * time.Second
	answerWait = 10 * time.Second
)

// The questions.
const (
	Who  = "who"  // Answer but for Text and Data
	Text = "text" // Answer.Text as well
	Data = "data" // Answer.Data as well
)

// question is what is asked.
type question struct {
	Version int
	Want    string
}

// Answer is what a fitrun says of its job.
type Answer struct {
	Version int
	PID     int
	Program string
	Ranks   int             // 0 if the job has not begun
	Began   time.Time       // the job, or else fitrun
	Text    string          `json:",omitempty"`
	Data    json.RawMessage `json:",omitempty"`
	Error   string          `json:",omitempty"` // why there is no answer
}

// Server answers questions until Close. Its socket is the one by which one fitrun asks another.
type Server struct {
	// immutable after Open
	ln     net.Listener
	answer func(ctx context.Context, want string) Answer
	ctx    context.Context
	cancel context.CancelFunc

	wg sync.WaitGroup // of all goroutines; ended by cancel and by closing ln
}

// Open begins to answer for this process. answer is called for each question of a user that may
// ask, by several goroutines at a time. Its context ends with the Server.
func Open(answer func(ctx context.Context, want string) Answer) (*Server, error) {
	name, err := nameOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("unix", name)
	if err != nil {
		return nil, fmt.Errorf("listening for fitrun status: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &Server{ln: ln, answer: answer, ctx: ctx, cancel: cancel}
	d.wg.Go(d.serve) // stopped by Close
	return d, nil
}

// Close ends all conversations and waits for that.
func (d *Server) Close() {
	d.cancel()
	d.ln.Close()
	d.wg.Wait()
}

// prefix begins the name of every Server's socket.
const prefix = "fitmpi/fitrun/"

// nameOf is the socket's name of a process. A process has a number in each namespace of processes,
// and the namespace of networks, in which names live, may have several of those.
func nameOf(pid int) (string, error) {
	space, err := namespace()
	if err != nil {
		return "", err
	}
	return "@" + space + strconv.Itoa(pid), nil
}

// namespace is the beginning of all names of this namespace of processes.
func namespace() (string, error) {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", fmt.Errorf("finding this namespace of processes: %w", err)
	}
	return prefix + strings.Trim(strings.TrimPrefix(link, "pid:"), "[]") + "/", nil
}

func (d *Server) serve() {
	slots := make(chan struct{}, mostClients)
	for {
		slots <- struct{}{}
		conn, err := d.ln.Accept()
		if err != nil {
			return
		}
		d.wg.Go(func() { // ends with the Server, or when the time is over
			defer func() { <-slots }()
			defer conn.Close()
			stop := context.AfterFunc(d.ctx, func() { conn.Close() })
			defer stop()
			d.converse(conn)
		})
	}
}

// converse answers one question.
func (d *Server) converse(conn net.Conn) {
	peer, err := credentials(conn)
	if err != nil || peer.Uid != 0 && int(peer.Uid) != os.Geteuid() {
		return
	}
	conn.SetReadDeadline(time.Now().Add(askWait))
	line, err := readLine(conn, maxQuestion)
	if err != nil {
		return
	}
	if out := d.answerTo(line); out != nil {
		conn.SetWriteDeadline(time.Now().Add(answerWait))
		conn.Write(out)
	}
}

// answerTo is the line that answers a line, nil if that is no question.
func (d *Server) answerTo(line []byte) []byte {
	var q question
	if json.Unmarshal(line, &q) != nil {
		return nil
	}
	var a Answer
	if a.Error = q.check(); a.Error == "" {
		a = d.answer(d.ctx, q.Want)
	}
	a.Version, a.PID = version, os.Getpid()
	out, err := json.Marshal(a)
	if err != nil || len(out) >= maxAnswer {
		return nil
	}
	return append(out, '\n')
}

// check says what is wrong with a question, "" if nothing is.
func (q *question) check() string {
	switch {
	case q.Version != version:
		return fmt.Sprintf("this fitrun answers version %d of questions, not %d: ask with the fitrun that started the job", version, q.Version)
	case q.Want != Who && q.Want != Text && q.Want != Data:
		return fmt.Sprintf("this fitrun knows no question %q", q.Want)
	default:
		return ""
	}
}

// credentials are those of the process at the other end, as the kernel knows them from when the
// connection was made.
func credentials(conn net.Conn) (*syscall.Ucred, error) {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *syscall.Ucred
	ctlErr := raw.Control(func(fd uintptr) {
		cred, err = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if ctlErr != nil {
		err = ctlErr
	}
	if err != nil {
		return nil, fmt.Errorf("asking which process is at the other end: %w", err)
	}
	return cred, nil
}

// readLine reads a line of at most so many bytes.
func readLine(r io.Reader, most int64) ([]byte, error) {
	return bufio.NewReader(io.LimitReader(r, most)).ReadBytes('\n')
}
