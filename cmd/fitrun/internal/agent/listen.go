//go:build linux

package agent

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/secure"
	"github.com/fitmpi/fitmpi/internal/strangers"
)

// DefaultPort is where an agent listens, and is looked for, if no other port is given.
const DefaultPort = 7117

const (
	// role is that of the connections, for package secure.
	role = "agent"
	// maxStrangers is how many connections may be without proof of the secret; the oldest give way
	// to more.
	maxStrangers = 512
	// maxStrangersPerHost is how many of them may come from one address.
	maxStrangersPerHost = 16
	// maxGreeting is the length of what a client says before frames begin: the marker and the
	// silence.
	maxGreeting = 64
)

// Listen serves every fitrun that connects to l and knows secret, each by an agent that is a
// process of its own, until ctx ends or l fails. Then it ends them and waits.
func Listen(ctx context.Context, l net.Listener, secret []byte, log *slog.Logger) error {
	var conns sync.WaitGroup
	defer conns.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var refused strangers.Log
	unknown := strangers.New(maxStrangers, maxStrangersPerHost)
	for {
		conn, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && isPassing(err) {
			refused.Warn(log, "accepting a connection", "error", err)
			time.Sleep(acceptPause)
			continue
		}
		if err != nil {
			return err
		}
		known := unknown.Enter(conn)
		conns.Go(func() { // ends with the connection, or with ctx
			if err := serveConn(ctx, conn, secret, known, log); err != nil {
				refused.Warn(log, "a fitrun was not served, or not to the end", "from", conn.RemoteAddr(), "error", err)
			}
		})
	}
}

// acceptPause is how long a listener pauses that is out of descriptors.
const acceptPause = 100 * time.Millisecond

// isPassing reports whether accepting may work again later.
func isPassing(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED)
}

// serveConn serves one fitrun, by an agent with its standard streams on the connection. It calls
// known when the other end is no stranger, or gone.
func serveConn(ctx context.Context, raw net.Conn, secret []byte, known func(), log *slog.Logger) error {
	defer raw.Close()
	cut := context.AfterFunc(ctx, func() { raw.Close() })
	defer cut()
	conn, err := secure.Server(raw, secret, role)
	known()
	if err != nil {
		return err
	}
	defer conn.Close()
	silence, err := readGreeting(conn)
	if err != nil {
		return err
	}
	log.Info("serving", "from", raw.RemoteAddr())
	defer log.Info("served", "from", raw.RemoteAddr())
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{os.Args[0], Arg, "--stdio", silence.String()}, Stderr: os.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	cmd.Stdout = conn
	if err := cmd.Start(); err != nil {
		return err
	}
	var copying sync.WaitGroup
	copying.Go(func() { // ends with the connection
		io.Copy(in, conn)
		in.Close() // the agent ends what it has started
	})
	err = cmd.Wait() // also for the end of its output
	conn.Close()
	copying.Wait()
	return err
}

// errLanguage is the error of a client that knows the secret and greets in another way.
var errLanguage = errors.New("it speaks another language: use a fitrun and an agent of one FitMPI version")

// readGreeting reads what a client says first, and nothing of what follows it.
func readGreeting(conn net.Conn) (silence time.Duration, err error) {
	conn.SetReadDeadline(time.Now().Add(secure.Timeout))
	defer conn.SetReadDeadline(time.Time{})
	var line []byte
	for b := make([]byte, 1); b[0] != '\n'; line = append(line, b[0]) {
		if _, err := io.ReadFull(conn, b); err != nil {
			return 0, err
		}
		if len(line) > maxGreeting {
			return 0, errLanguage
		}
	}
	f := strings.Fields(string(line))
	if len(f) != 2 || f[0] != marker {
		return 0, errLanguage
	}
	return parseSilence(f[1])
}

// dial reaches a host where an agent listens.
func dial(ctx context.Context, t Target, secret []byte, silence time.Duration) (*branch, *bufio.Reader, frame, error) {
	none := func(err error) (*branch, *bufio.Reader, frame, error) { return nil, nil, frame{}, err }
	if len(secret) == 0 {
		return none(errors.New("the agent that listens there wants to be shown its secret: give the file, --secret-file FILE"))
	}
	port := t.Port
	if port == 0 {
		port = DefaultPort
	}
	var d net.Dialer
	raw, err := d.DialContext(ctx, "tcp", net.JoinHostPort(t.Name, strconv.Itoa(port)))
	if err != nil {
		return none(fmt.Errorf("reaching its agent: %w", err))
	}
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	conn, err := secure.Client(raw, secret, role)
	if err != nil {
		stop()
		return none(fmt.Errorf("its agent at %v: %w", raw.RemoteAddr(), err))
	}
	b := &branch{target: t, in: conn, out: conn, said: new(crew.Tail)}
	r := bufio.NewReader(conn)
	facts, err := greetAgent(conn, r, silence)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		err = b.explain(ctx, err)
		b.close()
		return none(err)
	}
	return b, r, facts, nil
}

// greetAgent speaks with a listening agent, and then hears the first frame.
func greetAgent(conn net.Conn, r *bufio.Reader, silence time.Duration) (frame, error) {
	if _, err := fmt.Fprintf(conn, "%s %v\n", marker, silence); err != nil {
		return frame{}, err
	}
	return readFacts(r)
}
