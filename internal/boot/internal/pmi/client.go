package pmi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// MaxSize is the greatest number of processes of a job that a Client believes.
const MaxSize = 1 << 20

// What a launcher must be able to keep; all that are known offer 64 and 1024.
const (
	minKey   = 32
	minValue = 64
)

// longestRequest is how long a request may be, newline included: Slurm reads one into 1024 bytes.
const longestRequest = 1000

// linesOfPort is how many lines answer the first request of a process that has dialled. All others
// are answered by one.
const linesOfPort = 4

// startTimeout bounds each of the first requests, which wait for the launcher alone.
const startTimeout = time.Minute

// errLost is a request after the launcher closed its end.
var errLost = errors.New("the launcher closed the connection or died")

// Client is a process's connection to its launcher.
type Client struct {
	// immutable after Start
	conn     net.Conn
	kvs      string        // name of the job's key-value space
	keyMax   int           // bytes of the longest key
	valueMax int           // bytes of the longest value
	replies  chan reply    // has room for all that may be owed
	donec    chan struct{} // closed when the reader ends; err says why

	err    error        // owned by the reader, read by others after donec is closed
	owed   atomic.Int32 // lines that the launcher has yet to answer
	closed atomic.Bool

	mu     sync.Mutex // held during a request and its answer
	broken error      // guarded by mu: an answer may come for which no request waits

	writeMu sync.Mutex // held while a line is written, within mu or without it
}

// ID says which process of the job this is.
type ID struct{ Rank, Size int }

// Start begins the conversation over conn, which this process has inherited, and takes it over,
// also when it fails.
func Start(conn net.Conn) (*Client, error) {
	c := newClient(conn)
	return c.started(c.greet())
}

// StartPort is Start over conn, which this process has dialled, for the process that the launcher
// calls id. It returns what the launcher says about that.
func StartPort(conn net.Conn, id string) (*Client, ID, error) {
	c := newClient(conn)
	who, err := c.introduce(id)
	if err == nil {
		err = c.greet()
	}
	c, err = c.started(err)
	return c, who, err
}

// started closes the client of a beginning that failed.
func (c *Client) started(err error) (*Client, error) {
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("pmi: %w", err)
	}
	return c, nil
}

func newClient(conn net.Conn) *Client {
	c := &Client{conn: conn, replies: make(chan reply, linesOfPort), donec: make(chan struct{})}
	go c.read() // stopped by Close
	return c
}

// introduce says which process dialled.
func (c *Client) introduce(id string) (ID, error) {
	if id == "" || strings.ContainsFunc(id, func(r rune) bool { return r < '0' || r > '9' }) {
		return ID{}, fmt.Errorf("the id %.30q of this process is not a number", id)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c.owed.Add(linesOfPort - 1) // beside the answer that ask expects
	if _, err := c.ask(ctx, "cmd=initack pmiid="+id, "initack"); err != nil {
		return ID{}, err
	}
	fields := make(map[string]int)
	for _, key := range []string{"size", "rank", "debug"} {
		r, err := c.await(ctx, "set")
		if err != nil {
			return ID{}, err
		}
		if fields[key], err = r.number(key, 0, MaxSize); err != nil {
			return ID{}, err
		}
	}
	who := ID{Rank: fields["rank"], Size: fields["size"]}
	if who.Rank >= who.Size {
		return ID{}, fmt.Errorf("the launcher says that this is rank %d of %d", who.Rank, who.Size)
	}
	return who, nil
}

// greet agrees on the version and learns the limits.
func (c *Client) greet() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	r, err := c.ask(ctx, "cmd=init pmi_version=1 pmi_subversion=1", "response_to_init")
	if err != nil {
		return err
	}
	if v := r.fields["pmi_version"]; v != "1" {
		return fmt.Errorf("the launcher speaks version %.20q of PMI, want 1", v)
	}
	if r, err = c.ask(ctx, "cmd=get_maxes", "maxes"); err != nil {
		return err
	}
	if c.keyMax, err = r.number("keylen_max", minKey, MaxSize); err != nil {
		return err
	}
	if c.valueMax, err = r.number("vallen_max", minValue, MaxSize); err != nil {
		return err
	}
	if r, err = c.ask(ctx, "cmd=get_my_kvsname", "my_kvsname"); err != nil {
		return err
	}
	if c.kvs = r.fields["kvsname"]; c.kvs == "" || len(c.kvs) > 256 {
		return fmt.Errorf("the name of the key-value space has %d bytes, want 1 to 256", len(c.kvs))
	}
	// Both lengths count a byte at the end of a C string. The rest of a request is here at its
	// longest.
	c.keyMax--
	c.valueMax = min(c.valueMax-1, longestRequest-len("cmd=put kvsname= key= value=\n")-len(c.kvs)-min(c.keyMax, 64))
	return nil
}

// read is the reader goroutine. It never waits for the callers that ask: it accepts no answer
// without a request.
func (c *Client) read() {
	defer close(c.donec)
	lines := bufio.NewReaderSize(c.conn, maxLine)
	for {
		r, err := readReply(lines)
		if err != nil {
			c.err = err
			return
		}
		if c.owed.Add(-1) < 0 {
			c.err = fmt.Errorf("the launcher says %.60q, which answers no request", r.cmd)
			return
		}
		c.replies <- r
	}
}

func readReply(lines *bufio.Reader) (reply, error) {
	line, err := lines.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return reply{}, fmt.Errorf("a line longer than %d bytes came from the launcher", maxLine)
	case errors.Is(err, io.EOF):
		return reply{}, errLost
	case err != nil:
		return reply{}, err
	}
	return consumeLine(string(line[:len(line)-1]))
}

// ask sends a request and waits for its answer, of this command. If ctx ends meanwhile the answer
// may still come, when no caller waits for it. Then no further request can be made.
func (c *Client) ask(ctx context.Context, request, answer string) (reply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return reply{}, c.broken
	}
	c.owed.Add(1)
	if err := c.write(request); err != nil {
		select { // the end of the connection says more than the write
		case <-c.donec:
			return reply{}, c.err
		default:
			return reply{}, err
		}
	}
	r, err := c.await(ctx, answer)
	if ctx.Err() != nil && err != nil {
		c.broken = err
	}
	return r, err
}

// await waits for an answer.
func (c *Client) await(ctx context.Context, answer string) (reply, error) {
	select {
	case r := <-c.replies:
		return r, r.want(answer)
	case <-c.donec:
		select { // the last answer came before the end
		case r := <-c.replies:
			return r, r.want(answer)
		default:
			return reply{}, c.err
		}
	case <-ctx.Done():
		return reply{}, fmt.Errorf("waiting for %q from the launcher: %w", answer, context.Cause(ctx))
	}
}

func (c *Client) write(line string) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_, err := io.WriteString(c.conn, line+"\n")
	return err
}

// MaxValue is how many bytes a value of Put may have.
func (c *Client) MaxValue() int { return c.valueMax }

// Put stores value under key. Others see it after a barrier. A key is put once in a job. Neither
// may be empty or have spaces or control characters.
func (c *Client) Put(ctx context.Context, key, value string) error {
	switch {
	case !isWord(key) || !isWord(value):
		return fmt.Errorf("pmi: putting %.60q as %q: need words without spaces", value, key)
	case len(key) > min(c.keyMax, 64):
		return fmt.Errorf("pmi: the key %q has %d bytes: at most %d are allowed", key, len(key), min(c.keyMax, 64))
	case len(value) > c.valueMax:
		return fmt.Errorf("pmi: the value of %q has %d bytes: at most %d are allowed", key, len(value), c.valueMax)
	}
	if _, err := c.ask(ctx, "cmd=put kvsname="+c.kvs+" key="+key+" value="+value, "put_result"); err != nil {
		return fmt.Errorf("pmi: putting %q: %w", key, err)
	}
	return nil
}

func isWord(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f })
}

// Get returns the value that some process has put under key, before a barrier that this one has
// passed.
func (c *Client) Get(ctx context.Context, key string) (string, error) {
	r, err := c.ask(ctx, "cmd=get kvsname="+c.kvs+" key="+key, "get_result")
	if err != nil {
		return "", fmt.Errorf("pmi: getting %q: %w", key, err)
	}
	return r.fields["value"], nil
}

// Barrier waits until all processes of the job have called it.
func (c *Client) Barrier(ctx context.Context) error {
	if _, err := c.ask(ctx, "cmd=barrier_in", "barrier_out"); err != nil {
		return fmt.Errorf("pmi: waiting for all processes: %w", err)
	}
	return nil
}

// UniverseSize is how many processes the launcher has room for, 0 if it does not say.
func (c *Client) UniverseSize(ctx context.Context) (int, error) {
	r, err := c.ask(ctx, "cmd=get_universe_size", "universe_size")
	if err != nil {
		return 0, fmt.Errorf("pmi: asking for the size of the universe: %w", err)
	}
	n, err := r.number("size", 1, MaxSize)
	if err != nil {
		return 0, nil // Hydra says -1 for unknown
	}
	return n, nil
}

// AppNum is which of the launcher's programs this process runs, from 0; 0 if it does not say.
func (c *Client) AppNum(ctx context.Context) (int, error) {
	r, err := c.ask(ctx, "cmd=get_appnum", "appnum")
	if err != nil {
		return 0, fmt.Errorf("pmi: asking for the number of the program: %w", err)
	}
	n, err := r.number("appnum", 0, MaxSize)
	if err != nil {
		return 0, nil // Slurm says -1
	}
	return n, nil
}

// Finalize tells the launcher that the process may exit cleanly. The launcher hangs up then.
func (c *Client) Finalize(ctx context.Context) error {
	if _, err := c.ask(ctx, "cmd=finalize", "finalize_ack"); err != nil {
		return fmt.Errorf("pmi: finalizing: %w", err)
	}
	return nil
}

// Abort asks the launcher to end the job with this exit code. It does not wait for the end, nor for
// a request that another goroutine waits for.
func (c *Client) Abort(code int) error {
	if err := c.write(fmt.Sprintf("cmd=abort exitcode=%d", code)); err != nil {
		return fmt.Errorf("pmi: asking for the end of the job: %w", err)
	}
	return nil
}

// Lost is closed when the launcher has closed its end, or what it said was no PMI; Err then says
// why. Close closes it too.
func (c *Client) Lost() <-chan struct{} { return c.donec }

// Err is why the connection ended, [os.ErrClosed] if by Close.
//
// Preconditions:
//   - Lost is closed.
func (c *Client) Err() error {
	if c.closed.Load() {
		return os.ErrClosed
	}
	return c.err
}

// Close ends the connection and waits for its goroutine. Under most launchers a process that has
// not finalized has failed then. It is idempotent.
func (c *Client) Close() error {
	if c.closed.Swap(true) {
		<-c.donec
		return nil
	}
	err := c.conn.Close()
	<-c.donec
	return err
}
