//go:build !fitmpi_portable

package boot

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

// neighbours is a session with a second one beside it: with a hub of the ranks of this host, which
// has memory for them and their bells, and notices at once when one of them dies. It owns two
// goroutines, which forward events; Close stops them and waits.
type neighbours struct {
	Session         // of the whole job
	aside   Session // of this host
	events  chan Event
	forward sync.WaitGroup
	started context.Context // ends at the first event, and with the session: what is exchanged before needs all ranks
	giveUp  context.CancelCauseFunc

	mu   sync.Mutex
	seen map[Event]bool // guarded by mu

	closeOnce sync.Once
	closeErr  error // guarded by closeOnce
}

// withNeighbours adds to s, which it takes over, what the ranks of this host have in common, if
// there are several. It waits for them.
func withNeighbours(s Session, say io.Writer, patience time.Duration) (Session, error) {
	info := s.Info()
	if info.LocalSize == 1 || len(info.local) != info.LocalSize || info.Segment != nil {
		return s, nil
	}
	m := &meeting{
		rank: info.Rank, size: info.Size, ranks: info.local, source: info.Source,
		network: "unix", address: "fitmpi-job-" + hex.EncodeToString(info.Job[:]), patience: patience,
		isAside: true, say: say, every: progressEvery, id: info.Job,
	}
	n := &neighbours{Session: s, events: make(chan Event, info.Size+2), seen: make(map[Event]bool)}
	n.started, n.giveUp = context.WithCancelCause(context.Background())
	n.forward.Go(func() { n.publish(s.Events()) })
	aside, err := m.attend(n.started)
	if err != nil {
		n.giveUp(nil)
		err = errors.Join(err, s.Close())
		n.forward.Wait()
		return nil, err
	}
	n.aside = aside
	n.forward.Go(func() { n.publish(aside.Events()) })
	return n, nil
}

// publish forwards events until they end. What both sessions tell is told once, which keeps the
// count within the channel's capacity. While the ranks meet and exchange addresses, an event says
// that some will not come.
func (n *neighbours) publish(events <-chan Event) {
	for ev := range events {
		n.giveUp(errors.New(ev.Message))
		like := Event{Kind: ev.Kind}
		if ev.Kind == PeerFailed {
			like.Rank = ev.Rank
		}
		n.mu.Lock()
		if !n.seen[like] {
			n.seen[like] = true
			n.events <- ev
		}
		n.mu.Unlock()
	}
}

func (n *neighbours) Info() Info {
	info := n.Session.Info()
	aside := n.aside.Info()
	info.Segment, info.Bell = aside.Segment, aside.Bell
	return info
}

// Exchange ends when a rank of this host dies: not every launcher says so.
func (n *neighbours) Exchange(ctx context.Context, card []byte) ([][]byte, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(n.started, func() { cancel(context.Cause(n.started)) })()
	return n.Session.Exchange(ctx, card)
}

func (n *neighbours) Events() <-chan Event { return n.events }

func (n *neighbours) Finalizing(ctx context.Context) error {
	return errors.Join(n.aside.Finalizing(ctx), n.Session.Finalizing(ctx))
}

func (n *neighbours) idle(ctx context.Context) error {
	return errors.Join(Idle(ctx, n.aside), Idle(ctx, n.Session))
}

func (n *neighbours) wake() error { return errors.Join(Wake(n.aside), Wake(n.Session)) }

func (n *neighbours) useSessions() error {
	return errors.Join(UseSessions(n.aside), UseSessions(n.Session))
}

func (n *neighbours) Abort(code int, message string) error {
	// The other says why, and whether the job will end. That of the host is for its ranks, which
	// must not hear of it first: they would have another reason to give.
	err := n.Session.Abort(code, message)
	n.aside.Abort(code, message)
	return err
}

func (n *neighbours) Bell(localRank int, then func(*os.File)) error {
	return n.aside.Bell(localRank, then)
}

func (n *neighbours) Close() error {
	n.closeOnce.Do(func() {
		n.giveUp(nil)
		n.closeErr = errors.Join(n.aside.Close(), n.Session.Close())
		n.forward.Wait()
		close(n.events)
	})
	return n.closeErr
}

// attendLocal is attend, and then the same with the ranks of this host.
func (m *meeting) attendLocal() (Session, error) {
	s, err := m.attend(context.Background())
	if err != nil {
		return nil, err
	}
	return withNeighbours(s, m.say, m.patience)
}
