package strangers

import (
	"log/slog"
	"sync"
	"time"
)

// Limits of what is logged of strangers: so many lines at once, and then one in so long. A day of
// them is 8,640 lines, 2 MB.
const (
	logBurst = 20
	logEvery = 10 * time.Second
)

// Log bounds what is logged because of strangers, which must not fill a disk. The zero value is
// ready. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	used   int       // lines of the burst; guarded by mu
	since  time.Time // up to when used has been made smaller; guarded by mu
	missed int       // lines that were not written since the last that was; guarded by mu
}

// May reports whether a line may be written now, and how many were not since the last one: they
// belong in it.
func (l *Log) May(now time.Time) (ok bool, missed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := int(now.Sub(l.since) / logEvery); n > 0 {
		l.used = max(0, l.used-n)
		if l.since = l.since.Add(time.Duration(n) * logEvery); l.used == 0 {
			l.since = now
		}
	}
	if l.used >= logBurst {
		l.missed++
		return false, 0
	}
	l.used++
	missed, l.missed = l.missed, 0
	return true, missed
}

// Warn logs something that strangers can bring about as often as they like, if it may now. "others"
// is how many such lines were left out since the last one.
func (l *Log) Warn(to *slog.Logger, what string, args ...any) {
	ok, missed := l.May(time.Now())
	if !ok {
		return
	}
	if missed > 0 {
		args = append(args, "others", missed)
	}
	to.Warn(what, args...)
}
