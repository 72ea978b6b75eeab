package boot

import "context"

// IdleKey is the key under which a rank reports, with the texts below, that it is idle: that it
// takes no part in the job for now, but may again, because all its MPI sessions are finalized. Exit
// code 0 is clean meanwhile.
const IdleKey = "rest"

// The texts that go with IdleKey.
const (
	idle  = "yes"
	awake = "no"
)

// IsIdle reports whether the text of a report with IdleKey says that the rank is idle from now
// on.
func IsIdle(text string) bool { return text == idle }

// Idle tells the launcher that the rank of s is idle. A launcher that knows nothing of idle ranks
// is told that the rank is done with the others, the first time: it can say nothing of failures
// after that.
func Idle(ctx context.Context, s Session) error {
	if r, ok := s.(idler); ok {
		return r.idle(ctx)
	}
	return s.Finalizing(ctx)
}

// Wake takes back what Idle has said, as far as that is possible.
func Wake(s Session) error {
	if r, ok := s.(idler); ok {
		return r.wake()
	}
	return nil
}

// idler is a session whose other end knows of idle ranks.
type idler interface {
	idle(ctx context.Context) error
	wake() error
	useSessions() error
}

// UseSessions prepares s for a rank that may become idle: a rank 0 at which the ranks meet may be
// gone before the others, so they fetch what they will need of it. To be called before the first
// Idle of any rank: before Exchange is best.
func UseSessions(s Session) error {
	if r, ok := s.(idler); ok {
		return r.useSessions()
	}
	return nil
}

func (s *session) useSessions() error {
	if s.other == launcherName {
		return nil
	}
	return s.fetchBells()
}

func (s *session) idle(context.Context) error {
	s.finalizing.Store(true)
	return s.reportIdle(idle)
}

func (s *session) wake() error {
	s.finalizing.Store(false)
	return s.reportIdle(awake)
}

// reportIdle tells the other end. If that is another rank it may be gone: then no process is left
// that keeps a record.
func (s *session) reportIdle(text string) error {
	if err := s.Report(IdleKey, text); err != nil && s.other == launcherName {
		return err
	}
	return nil
}
