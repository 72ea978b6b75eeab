package boot

import (
	"encoding/hex"
	"sync"
)

// ForeignFailure says that a rank of another job is dead.
type ForeignFailure struct {
	Job     [16]byte
	Rank    int
	Message string // for people
}

// foreign is what a session has heard of ranks of other jobs.
type foreign struct {
	mu     sync.Mutex
	list   []ForeignFailure // guarded by mu: not taken yet
	queued bool             // guarded by mu: a ForeignFailed waits to be read
}

// TakeForeign returns what was heard of ranks of other jobs since the last time, in order. To be
// called for each ForeignFailed.
func TakeForeign(s Session) []ForeignFailure {
	link, ok := s.(*session)
	if !ok {
		return nil
	}
	f := &link.foreign
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.list
	f.list, f.queued = nil, false
	return list
}

// takeForeign keeps a failure. One event at a time says that there are some, so that the events
// that wait stay within their channel.
func (s *session) takeForeign(m message) error {
	job, err := decodeJob(m.Job)
	if err != nil {
		return err
	}
	f := &s.foreign
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = append(f.list, ForeignFailure{job, m.Rank, m.Text})
	if !f.queued {
		f.queued = true
		s.events <- Event{Kind: ForeignFailed, Rank: -1}
	}
	return nil
}

// jobOf is the job that an event is about, as it travels; empty if it is that of the rank itself.
func jobOf(ev Event) string {
	if ev.Kind != ForeignFailed {
		return ""
	}
	return hex.EncodeToString(ev.Job[:])
}
