//go:build !fitmpi_portable

package boot

import "context"

// idle is that of the leader, whose process may be gone when it returns: the others know then.
func (s *hubSession) idle(ctx context.Context) error {
	err := s.session.idle(ctx)
	s.hub.announce(ctx, 1)
	return err
}

func (s *hubSession) wake() error {
	err := s.session.wake()
	s.hub.announce(context.Background(), 0)
	return err
}

// announce tells all ranks but the leader that it is idle, code 1, or that it is not, code 0,
// and waits until that is written.
func (h *hub) announce(ctx context.Context, code int) {
	ctx, cancel := context.WithTimeout(ctx, goodbye)
	defer cancel()
	var links []*Link
	h.post(func() {
		for r, m := range h.members {
			if h.state == hubRunning && !m.gone && r != h.cfg.ranks[0] {
				m.link.SendEvent(Event{Kind: leaderIdles, Rank: h.cfg.ranks[0], Code: code})
				links = append(links, m.link)
			}
		}
	})
	for _, l := range links {
		l.flush(ctx)
	}
}
