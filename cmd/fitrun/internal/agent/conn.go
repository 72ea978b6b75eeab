//go:build linux

package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// maxQueued is how much may wait for a neighbour before push does.
const maxQueued = 4 << 20

// conn is a conversation with a neighbour in the tree: fitrun or an agent.
//
// send never blocks: frames wait for the conn's writer. Two more goroutines read frames, and watch
// that the neighbour is alive. close ends all three; wait waits for them.
type conn struct {
	// immutable after newConn
	r       *bufio.Reader
	w       io.WriteCloser
	onEnd   func(error) // called once, by the reader, when the conversation is over
	silence time.Duration
	kick    chan struct{} // capacity 1: the queue may hold something
	donec   chan struct{} // closed by close
	drained chan struct{} // closed when the writer ends
	threads sync.WaitGroup

	heard  atomic.Uint64 // how often something was read
	busy   atomic.Bool   // the reader handles a frame, and reads nothing meanwhile
	paused atomic.Bool   // the neighbour has said that it will be silent
	once   sync.Once
	cut    func(why error) // makes reads and writes fail

	mu     sync.Mutex
	room   *sync.Cond // with mu: queued has become less, or closed true
	queue  []frame    // not yet taken by the writer; guarded by mu
	queued int        // bytes of the frames in queue and at the writer; guarded by mu
	closed bool       // guarded by mu
	last   bool       // the writer ends when the queue is empty; guarded by mu
	why    error      // the first reason for the end; guarded by mu
}

// newConn makes a conversation over r and w. cut must make reads and writes that are under way
// fail.
func newConn(r *bufio.Reader, w io.WriteCloser, silence time.Duration, cut func(why error)) *conn {
	c := &conn{
		r: r, w: w, silence: silence, cut: cut,
		kick: make(chan struct{}, 1), donec: make(chan struct{}), drained: make(chan struct{}),
	}
	c.room = sync.NewCond(&c.mu)
	return c
}

// begin starts the conversation: handle is called for each frame, by one goroutine, and onEnd after
// the last.
func (c *conn) begin(handle func(frame) error, onEnd func(error)) {
	c.onEnd = onEnd
	c.threads.Go(func() { c.read(handle) })
	c.threads.Go(c.write)
	c.threads.Go(c.watch)
}

// send queues a frame.
func (c *conn) send(f frame) {
	c.mu.Lock()
	c.sendLocked(f)
	c.mu.Unlock()
}

// push is send that waits while much is queued. It is for what is long, and for what comes from
// elsewhere.
func (c *conn) push(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.queued > maxQueued && !c.closed {
		c.room.Wait()
	}
	c.sendLocked(f)
}

func (c *conn) sendLocked(f frame) {
	if c.closed || c.last {
		return
	}
	c.queue = append(c.queue, f)
	c.queued += headerSize + len(f.payload) + 1
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// read is the reader.
func (c *conn) read(handle func(frame) error) {
	in := heardReader{c}
	for {
		f, err := readFrame(in)
		switch {
		case err != nil, f.kind == kindPing:
		case f.kind == kindPause, f.kind == kindResume:
			c.paused.Store(f.kind == kindPause)
		default:
			c.busy.Store(true)
			err = handle(f)
			c.heard.Add(1)
			c.busy.Store(false)
		}
		if err != nil {
			c.fail(err)
			c.onEnd(c.reason())
			return
		}
	}
}

// heardReader notes that the neighbour lives.
type heardReader struct{ c *conn }

func (h heardReader) Read(p []byte) (int, error) {
	n, err := h.c.r.Read(p)
	h.c.heard.Add(1)
	return n, err
}

// write is the writer.
func (c *conn) write() {
	defer close(c.drained)
	for {
		select {
		case <-c.kick:
		case <-c.donec:
			return
		}
		queue, last := c.take()
		var b []byte
		for i, f := range queue {
			b = appendFrame(b, f)
			if len(b) < 64<<10 && i+1 < len(queue) {
				continue
			}
			if _, err := c.w.Write(b); err != nil {
				c.fail(err)
				return
			}
			c.wrote(len(b))
			b = b[:0]
		}
		if last {
			c.w.Close()
			return
		}
	}
}

func (c *conn) take() (queue []frame, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	queue, c.queue = c.queue, nil
	return queue, c.last
}

func (c *conn) wrote(n int) {
	c.mu.Lock()
	c.queued -= n
	c.room.Broadcast()
	c.mu.Unlock()
}

// watch sends signs of life and looks for those of the neighbour. It counts its own turns, not the
// time: if this process was stopped, the neighbour was not silent for that.
func (c *conn) watch() {
	tick := time.NewTicker(c.silence / beats)
	defer tick.Stop()
	heard, missed := c.heard.Load(), 0
	for {
		select {
		case <-c.donec:
			return
		case <-tick.C:
		}
		if h := c.heard.Load(); h != heard || c.busy.Load() || c.paused.Load() {
			heard, missed = h, 0
		} else if missed++; missed >= beats {
			c.fail(fmt.Errorf("nothing was heard from it for %v", c.silence))
			return
		}
		c.mu.Lock()
		if len(c.queue) == 0 { // else it will hear of us
			c.sendLocked(frame{kind: kindPing})
		}
		c.mu.Unlock()
	}
}

// beats is how many signs of life there are in the time after which a neighbour is lost.
const beats = 4

// pause tells the neighbour that this process is about to be stopped, and waits for a moment until
// that is on its way.
func (c *conn) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sendLocked(frame{kind: kindPause})
	late := time.AfterFunc(pausePatience, c.room.Broadcast)
	defer late.Stop()
	for end := time.Now().Add(pausePatience); c.queued > 0 && !c.closed && time.Now().Before(end); {
		c.room.Wait()
	}
}

// pausePatience is how long a process that is to be stopped waits for a neighbour.
const pausePatience = time.Second

// finish ends the writing side when everything is written; drained says when.
func (c *conn) finish() {
	c.mu.Lock()
	c.last = true
	c.mu.Unlock()
	select {
	case c.kick <- struct{}{}:
	default:
	}
}

// fail ends the conversation; err is why, if it is the first reason.
func (c *conn) fail(err error) {
	c.mu.Lock()
	if c.why == nil {
		c.why = err
	}
	c.closed = true
	c.room.Broadcast()
	c.mu.Unlock()
	c.once.Do(func() {
		close(c.donec)
		c.cut(err)
	})
}

func (c *conn) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.why
}

// errClosed is the end that this side wanted.
var errClosed = errors.New("closed")

// close ends the conversation at once.
func (c *conn) close() { c.fail(errClosed) }

// wait waits, after fail or close, for the goroutines.
func (c *conn) wait() { c.threads.Wait() }
