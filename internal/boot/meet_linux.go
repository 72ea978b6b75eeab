//go:build !fitmpi_portable

package boot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/secure"
)

// Pauses between the tries of a rank that dials another that may not be there yet.
const (
	firstPause = 20 * time.Millisecond
	lastPause  = time.Second
	dialTime   = 5 * time.Second // of one try: a packet that is lost on the way to a host that is starting is not answered
)

// meeting is where the ranks of a job, or those of one host, find each other: the first of them
// serves, the others dial.
type meeting struct {
	rank, size int   // of the job
	ranks      []int // that meet, ascending, this one included
	source     string
	network    string // tcp or unix
	address    string // host:port, or an abstract name without its @
	secret     []byte // that the ranks prove to know; of tcp
	patience   time.Duration
	isAside    bool // see hubConfig
	say        io.Writer
	every      time.Duration // how often to say what it waits for
	id         [16]byte      // of the job; of a meeting aside
}

// role is what encrypted connections to rank 0 are for: see package secure.
const role = "rendezvous"

// attend waits for all, and returns this rank's session. It gives up when ctx ends.
func (m *meeting) attend(ctx context.Context) (Session, error) {
	if m.rank == m.ranks[0] {
		s, err := m.lead(ctx)
		if err != nil {
			return nil, err // not s, which is no nil Session
		}
		return s, nil
	}
	s, err := m.follow(ctx)
	if err != nil {
		return nil, err
	}
	s.info.Source = m.source
	return s, nil
}

// lead serves the others.
func (m *meeting) lead(ctx context.Context) (*hubSession, error) {
	listener, err := m.listen()
	if err != nil {
		return nil, fmt.Errorf("boot: rank %d waits for the others at %s: %w", m.rank, m.address, err)
	}
	job, secret := NewJob()
	if m.isAside {
		job = m.id
	}
	s, err := startHub(ctx, listener, hubConfig{
		ranks: m.ranks, size: m.size, job: job, secret: secret, trust: m.trustCaller, patience: m.patience,
		shared: m.network == "unix", where: m.address, say: m.say, every: m.every, isAside: m.isAside,
	}, here())
	if err != nil {
		return nil, err
	}
	s.info.Source = m.source
	return s, nil
}

// listen listens at the address. An address that is a name may resolve to something else here (in a
// container: to nothing yet), so it stands for every address of this host. A peer that dials must
// prove that it is of the job anyway.
func (m *meeting) listen() (net.Listener, error) {
	if m.network == "unix" {
		return listenLocal(m.address)
	}
	host, port, err := net.SplitHostPort(m.address)
	if err != nil {
		return nil, err
	}
	if net.ParseIP(host) == nil {
		host = ""
	}
	return net.Listen("tcp", net.JoinHostPort(host, port))
}

func (m *meeting) trustCaller(conn net.Conn) (net.Conn, error) {
	if m.network == "unix" {
		return sameUser(conn)
	}
	return secure.Server(conn, m.secret, role)
}

func (m *meeting) trustCalled(conn net.Conn) (net.Conn, error) {
	if m.network == "unix" {
		return sameUser(conn)
	}
	return secure.Client(conn, m.secret, role)
}

// follow dials the leader until it is there, and waits for the others with it.
func (m *meeting) follow(ctx context.Context) (*session, error) {
	began := time.Now()
	until := began.Add(m.patience)
	p := m.newProgress(began)
	defer p.stop()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		s, err := m.try(ctx, until, p)
		var refused *refusal
		switch {
		case err == nil:
			return m.provide(ctx, s)
		case errors.As(err, &refused):
			return nil, fmt.Errorf("boot: %w", err)
		case time.Until(until) <= 0:
			return nil, fmt.Errorf("boot: rank %d waited %v for rank %d at %s: %w", m.rank, m.patience, m.ranks[0], m.address, err)
		}
		p.set(err.Error())
		select {
		case <-time.After(min(pause, time.Until(until))): // the last try is made when patience is over
		case <-ctx.Done():
			return nil, fmt.Errorf("boot: %w", context.Cause(ctx))
		}
	}
}

// try dials once. Names are resolved anew each time.
func (m *meeting) try(ctx context.Context, until time.Time, p *progress) (*session, error) {
	address := m.address
	if m.network == "unix" {
		address = "@" + address
	}
	// Not until the end of patience: a try that is cut short would not say what is wrong.
	conn, err := net.DialTimeout(m.network, address, dialTime)
	if err != nil {
		return nil, err
	}
	if conn, err = m.trustCalled(conn); err != nil {
		return nil, err
	}
	p.set("it is there, and waits for others")
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	how := opening{other: fmt.Sprint("rank ", m.ranks[0]), until: until.Add(goodbye), join: joinOf(m.rank, m.size, here())}
	if !hasFT() {
		return open(conn, how)
	}
	how.gone = Event{Kind: PeerFailed, Rank: m.ranks[0]}
	return open(conn, how)
}

// provide gives a session what the rank needs to do without the leader, if it may have to. A leader
// that dies meanwhile is not dialled again: it had welcomed all.
func (m *meeting) provide(ctx context.Context, s *session) (*session, error) {
	if !hasFT() {
		return s, nil
	}
	stop := context.AfterFunc(ctx, func() { s.conn.Close() })
	defer stop()
	err := s.fetchBells()
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("boot: %w", context.Cause(ctx))
	}
	return nil, errors.Join(err, s.Close())
}

// hasFT reports whether the ranks go on without those of them that die, the leader included. Then
// no rank ends the job for that once all have met, and each can do without the leader from the
// moment when it has met the others.
func hasFT() bool { return os.Getenv(envFT) == "1" }

// progress says every few seconds that a rank waits, and why.
type progress struct {
	mu   sync.Mutex
	why  string // guarded by mu
	quit chan struct{}
	done sync.WaitGroup
}

func (m *meeting) newProgress(began time.Time) *progress {
	p := &progress{quit: make(chan struct{})}
	p.done.Go(func() {
		tick := time.NewTicker(m.every)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				fmt.Fprintf(m.say, "fitmpi: rank %d waits for rank %d at %s, %v%s\n",
					m.rank, m.ranks[0], m.address, now.Sub(began).Round(time.Second), p.get())
			case <-p.quit:
				return
			}
		}
	})
	return p
}

func (p *progress) set(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = strings.TrimSpace(why)
}

func (p *progress) get() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.why == "" {
		return ""
	}
	return ": " + p.why
}

func (p *progress) stop() {
	close(p.quit)
	p.done.Wait()
}
