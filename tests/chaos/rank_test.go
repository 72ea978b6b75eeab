//go:build linux

package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/mpi"
)

// What the test binary does as a rank.

const (
	envOrders = "FITMPI_TESTS_CHAOS_ORDERS" // JSON of orders: this process is a rank
	envMark   = "FITMPI_TESTS_CHAOS_MARK"   // equal for all processes of a run
)

// orders are what the harness tells the ranks.
type orders struct {
	Socket  string // of the harness
	Seed    uint64
	Scale   int    // exchange.scale
	Recover bool   // ranks go on without those that fail
	Restart bool   // they go on from their checkpoint
	Default bool   // errors go to the default error handler
	Files   uint64 // RLIMIT_NOFILE of ranks; 0 leaves it
	Bug     string // a planted one: exchange.bug
	BugBy   int    // the rank that has it
	Proxied bool
	Epochs  int // ends after so many; 0: when the harness says so

	FullStore bool // some checkpoints are too large for their disk

	PerProcess int           // ranks
	Every      time.Duration // a soak: samples are taken so often; 0: it is none
}

// report is what a rank tells the harness, a line each.
type report struct {
	Rank, PID int
	Card      []byte  `json:",omitempty"` // asks for one in its place
	Sample    *sample `json:",omitempty"`
	Running   bool    `json:",omitempty"` // the first epoch is over
	Loaded    *loaded `json:",omitempty"` // it goes on from a checkpoint, or from none
	Saved     int64   `json:",omitempty"` // this version is there for good
	Refused   bool    `json:",omitempty"` // there was no room for a checkpoint
	Done      bool    `json:",omitempty"` // all is well at the end
	Error     string  `json:",omitempty"` // it ends with an error
	Wrong     bool    `json:",omitempty"` // which is no fault's
	Class     string  `json:",omitempty"` // of the error

	Sent, Received, Collected uint64
	Epochs, Recoveries        int
	Restarts                  int    `json:",omitempty"`
	Left                      int    `json:",omitempty"` // ranks that are left, after recoveries
	Struck                    bool   `json:",omitempty"` // the planted bug
	Counters                  string `json:",omitempty"`
}

// reply is what the harness answers, and says unasked.
type reply struct {
	Card []byte `json:",omitempty"`
	Stop bool   `json:",omitempty"` // end after this epoch
}

// rankMain is main of a rank process.
func rankMain(text string) {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	boot.ChangeCards(func(rank int, card []byte) []byte {
		p := dialHarness(o.Socket, rank)
		if o.Files > 0 { // not before the harness is reached
			if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: o.Files, Max: o.Files}); err != nil {
				panic(err)
			}
		}
		if !o.Proxied {
			return card
		}
		return p.cardFor(card)
	})
	mpi.Main(func(_ context.Context, world *mpi.Comm) error { return o.run(world) })
}

// phone is a rank's connection to the harness.
type phone struct {
	rank int
	conn net.Conn
	in   *json.Decoder
	stop atomic.Bool // the harness wants the end

	mu  sync.Mutex
	out *json.Encoder // guarded by mu
}

// phones are those of the ranks of this process, by rank.
var phones sync.Map

func dialHarness(path string, rank int) *phone {
	conn, err := net.Dial("unix", path)
	if err != nil {
		fmt.Fprintln(os.Stderr, "the harness is gone:", err)
		os.Exit(99)
	}
	p := &phone{rank: rank, conn: conn, in: json.NewDecoder(conn), out: json.NewEncoder(conn)}
	phones.Store(rank, p)
	p.say(report{})
	return p
}

func (p *phone) say(r report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.Rank, r.PID = p.rank, os.Getpid()
	p.out.Encode(r) // if the harness is gone nothing needs to know
}

// cardFor asks for the card to give in place of our own.
func (p *phone) cardFor(card []byte) []byte {
	p.say(report{Card: card})
	var r reply
	if err := p.in.Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, "the harness gives no card:", err)
		os.Exit(99)
	}
	return r.Card
}

// listen hears when the run is to end. It ends with the process.
func (p *phone) listen() {
	for {
		var r reply
		if p.in.Decode(&r) != nil {
			return
		}
		p.stop.Store(p.stop.Load() || r.Stop)
	}
}

// run is the program of a rank.
func (o *orders) run(world *mpi.Comm) error {
	v, ok := phones.Load(world.Rank())
	if !ok { // a job whose ranks exchange no cards
		v = dialHarness(o.Socket, world.Rank())
	}
	p := v.(*phone)
	go p.listen()
	if !o.Default {
		world.SetErrhandler(mpi.ErrorsReturn)
	}
	x := &exchange{seed: o.Seed, scale: o.Scale, hopeless: make(chan struct{})}
	if o.BugBy == world.Rank() {
		x.bug = o.Bug
	}
	end, err := o.epochs(world, x, p)
	end.Sent, end.Received, end.Collected, end.Struck = x.sent.Load(), x.received.Load(), x.collected.Load(), x.struck.Load()
	switch { // o.Bug: what the harness must notice
	case err != nil:
		end.Error, end.Wrong, end.Class = err.Error(), isWrong(err), classOf(err)
	case x.bug == "silent":
		return nil
	case x.bug == "exit":
		os.Exit(5)
	case x.bug == "hang":
		_, err = mpi.Recv(world, make([]byte, 1), 0, 1)
	case x.bug == "leave":
		err = os.WriteFile(filepath.Join(os.TempDir(), "left"), nil, 0o600)
	}
	end.Done = err == nil
	p.say(end)
	return err
}

// epochs runs the load until the harness wants the end.
func (o *orders) epochs(world *mpi.Comm, x *exchange, p *phone) (end report, err error) {
	if err := world.AttachJobBuffer(make([]byte, bsendRoom)); err != nil {
		return end, err
	}
	switch {
	case o.Recover:
		return (&recovery{o: o, x: x, p: p}).run(world)
	case o.Restart:
		return (&life{o: o, x: x, p: p}).run(world)
	}
	cs, err := newComms(world)
	if err == nil && o.Every > 0 {
		return o.soak(world, cs, x, p)
	}
	for over := false; err == nil && !over; {
		if err = x.epoch(cs, end.Epochs); err != nil {
			break
		}
		end.Epochs++
		if end.Epochs == 1 {
			p.say(report{Running: true})
		}
		over, err = cs.isOver(p.stop.Load() || o.Epochs == end.Epochs)
	}
	if err == nil {
		_, err = world.DetachJobBuffer()
	}
	return end, err
}

// isWrong reports whether err says that something came that was not sent.
func isWrong(err error) bool {
	_, wrong := errors.AsType[wrongError](err)
	return wrong
}

// classOf names what kind of error err is, as far as the verdict needs.
func classOf(err error) string {
	for _, c := range []struct {
		class mpi.ErrorClass
		name  string
	}{
		{mpi.ErrProcFailed, "ErrProcFailed"}, {mpi.ErrProcFailedPending, "ErrProcFailedPending"},
		{mpi.ErrRevoked, "ErrRevoked"}, {mpi.ErrProcAborted, "ErrProcAborted"},
	} {
		if errors.Is(err, c.class) {
			return c.name
		}
	}
	if strings.Contains(err.Error(), "the job is ending") {
		return "ending"
	}
	if e, ok := errors.AsType[*mpi.Error](err); ok {
		return fmt.Sprint(e.Class)
	}
	return fmt.Sprintf("%T", err)
}

// patience is how long the harness waits for what must come soon on a machine that has other things
// to do.
const patience = 30 * time.Second
