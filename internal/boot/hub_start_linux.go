//go:build !fitmpi_portable

package boot

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/strangers"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// startHub serves the peers that dial listener, which it takes over. It returns the leader's own
// session when all ranks are there. It gives up when ctx ends.
func startHub(ctx context.Context, listener net.Listener, cfg hubConfig, me place) (*hubSession, error) {
	h := &hub{
		cfg: cfg, listener: listener, inbox: make(chan func()), donec: make(chan struct{}), stopc: make(chan struct{}),
		strangers: strangers.New(maxStrangers+len(cfg.ranks), maxStrangersPerHost+len(cfg.ranks)),
		members:   make(map[int]*member), cards: NewCards(len(cfg.ranks)), began: time.Now(),
	}
	h.until = h.began.Add(cfg.patience)
	if cfg.shared {
		h.share()
	}
	here, there, err := localPair()
	if err != nil {
		h.release()
		return nil, fmt.Errorf("boot: %w", err)
	}
	h.work.Go(h.accept)                     // stopped by closing listener
	h.work.Go(func() { h.serveOwn(there) }) // stopped by the loop's end, as all that serve
	go h.loop()                             // stopped by stopc
	stop := context.AfterFunc(ctx, func() { h.post(func() { h.givenUp(context.Cause(ctx)) }) })
	defer stop()
	s, err := open(here, opening{other: fmt.Sprint("rank ", cfg.ranks[0]), until: h.until.Add(goodbye), join: joinOf(cfg.ranks[0], cfg.size, me)})
	if err != nil {
		h.close()
		return nil, fmt.Errorf("boot: %w", err)
	}
	return &hubSession{session: s, hub: h}, nil
}

// joinOf is how a rank introduces itself.
func joinOf(rank, size int, at place) message {
	return message{Type: typeJoin, Version: Version, Rank: rank, Size: size, PID: at.PID, Place: &at}
}

// share makes memory for the ranks, as fitrun does for its. Without it they use TCP, and say so
// where that matters.
func (h *hub) share() {
	n := len(h.cfg.ranks)
	if n < 2 || n > shm.MaxRanks || os.Getenv(envTransport) == "tcp" {
		return
	}
	segment, err := shm.Create(n)
	if err != nil {
		h.say("making shared memory: %v; the ranks of this host will use TCP", err)
		return
	}
	var bells []*os.File
	for range n {
		bell, err := sys.NewEventFD()
		if err != nil {
			closeFiles(append(bells, segment)...)
			h.say("making shared memory: %v; the ranks of this host will use TCP", err)
			return
		}
		bells = append(bells, bell)
	}
	h.segment, h.bells = segment, bells
}

func (h *hub) say(format string, args ...any) {
	fmt.Fprintf(h.cfg.say, "fitmpi: "+format+"\n", args...)
}

// close ends the hub when the leader's session is closed: if that was clean, when all the others
// are done too. It is to be called once.
func (h *hub) close() {
	close(h.stopc)
	<-h.donec
	h.work.Wait()
	h.release()
}

func (h *hub) release() {
	h.listener.Close()
	closeFiles(append(slices.Clone(h.bells), h.segment)...)
}

// hubSession is the leader's session.
type hubSession struct {
	*session
	hub  *hub
	once sync.Once
	err  error // guarded by once
}

// Close ends the leader's session, and then the hub.
func (s *hubSession) Close() error {
	s.once.Do(func() {
		s.err = s.session.Close()
		s.hub.close()
	})
	return s.err
}
