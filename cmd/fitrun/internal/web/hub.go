//go:build linux

package web

import (
	"context"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Source is what a Server reads: a *view.View.
type Source interface {
	Ranks() []view.Rank
	Times() (start, end time.Time)
	Events(first int) []view.Event
	Stuck() string // why the job cannot go on, "" if it can
	Ask(ctx context.Context, question string) []*telemetry.Report
}

// pace is how long the ranks of a job are left alone between two questions: a second, or so much
// longer that fitrun is busy with them for a twentieth of a core at most. To read an answer and to
// draw what is in it takes fitrun some 50 us, and 5 us for each of the lines of the answer. There
// is one line for every rank with which the rank has ever exchanged a message. The times were
// measured with BenchmarkPicture and on answers of 256 lines, on a busy machine.
func pace(ranks, lines int) time.Duration {
	return max(time.Second, 20*(time.Duration(ranks)*50*time.Microsecond+time.Duration(lines)*5*time.Microsecond))
}

// hub makes the pictures, as long as a browser looks, and hands them to all browsers that do.
type hub struct {
	mu       sync.Mutex
	cur      *picture      // guarded by mu, as all below; nil until the first for the browsers that look now
	isLast   bool          // cur is the last picture
	changedc chan struct{} // closed and replaced when cur changes
	watchers int
	cache    encoded

	wakec chan struct{} // a browser has begun to look; room for one
}

// encoded is the update from one picture to another: browsers that keep up are all sent the same.
type encoded struct {
	from, to *picture
	data     []byte
}

func newHub() *hub { return &hub{changedc: make(chan struct{}), wakec: make(chan struct{}, 1)} }

// run makes pictures of src until ctx ends, and a last one then.
func (h *hub) run(ctx context.Context, src Source) {
	var prev *picture
	for h.awaitWatcher(ctx) {
		if !h.hasPicture() { // a browser that has just come does not wait for the ranks' answers
			prev = look(src, nil)
			h.publish(prev, false)
		}
		asked, cancel := context.WithTimeout(ctx, prev.pace)
		src.Ask(asked, telemetry.AskCounters)
		cancel()
		prev = look(src, prev)
		h.publish(prev, false)
		h.rest(ctx, src, prev)
	}
	h.publish(look(src, prev), true)
}

// look makes a picture of now.
func look(src Source, prev *picture) *picture {
	in := input{ranks: src.Ranks(), events: src.Events(0), stuck: src.Stuck(), now: time.Now()}
	in.start, in.end = src.Times()
	return draw(in, prev)
}

// rest leaves the ranks alone for a while. A browser that comes when none has looked for a moment
// is given a picture at once.
func (h *hub) rest(ctx context.Context, src Source, prev *picture) {
	t := time.NewTimer(prev.pace)
	defer t.Stop()
	for {
		select {
		case <-h.wakec:
			if !h.hasPicture() {
				h.publish(look(src, prev), false)
			}
		case <-t.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// awaitWatcher waits until a browser looks. It returns false when ctx has ended.
func (h *hub) awaitWatcher(ctx context.Context) bool {
	for ctx.Err() == nil && !h.isWatched() {
		select {
		case <-h.wakec:
		case <-ctx.Done():
		}
	}
	return ctx.Err() == nil
}

func (h *hub) isWatched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.watchers > 0
}

func (h *hub) hasPicture() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cur != nil
}

func (h *hub) publish(p *picture, last bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cur, h.isLast = p, last
	close(h.changedc)
	h.changedc = make(chan struct{})
}

// join notes that a browser looks, unless limit of them do already.
func (h *hub) join(limit int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.watchers >= limit {
		return false
	}
	if h.watchers == 0 && !h.isLast {
		h.cur = nil // it is of the time when a browser last looked
	}
	h.watchers++
	select {
	case h.wakec <- struct{}{}:
	default:
	}
	return true
}

func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers--
}

// next returns the newest picture, and the update that leads to it from the picture that a browser
// has. There is no update if there is no newer picture. changed is closed when there is one.
func (h *hub) next(from *picture) (data []byte, cur *picture, isLast bool, changed <-chan struct{}) {
	h.mu.Lock()
	cur, isLast, changed = h.cur, h.isLast, h.changedc
	if c := h.cache; cur != nil && c.from == from && c.to == cur {
		data = c.data
	}
	h.mu.Unlock()
	if cur == nil || cur == from || data != nil {
		return data, cur, isLast, changed
	}
	u := changes(from, cur)
	u.Last = isLast
	data = u.appendEvent(nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cache = encoded{from, cur, data}
	return data, cur, isLast, changed
}
