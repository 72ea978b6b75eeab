package progress

import (
	"testing"
	"time"
)

func newHabit() *Habit { return &Habit{Within: 30 * time.Microsecond, Each: time.Microsecond} }

func at(t int64) func() int64 { return func() int64 { return t } }

// TestHabits: callers that wait soon stop waking the worker; one that does not is found by it, and
// its next posts wake the worker again.
func TestHabits(t *testing.T) {
	h, now := newHabit(), int64(time.Hour)
	for i := range Enough {
		h.Leave(0, at(now))
		if h.ExpectedLocked(now) > 0 {
			t.Errorf("expected after %d waits that came soon", i)
		}
		h.ComeLocked(now + 1)
	}
	h.Leave(0, at(now))
	if !h.IsSet() || h.ExpectedLocked(now+1) != h.Within-1 {
		t.Error("a caller that always waits soon is not expected to")
	}
	if h.ExpectedLocked(now+int64(2*h.Within)) > 0 {
		t.Error("a caller is expected that has not come")
	}
	if h.IsSet() {
		t.Error("and so is the next")
	}
	h.Set(true)
	h.Forget()
	h.Leave(0, at(now))
	h.ComeLocked(now + int64(h.Within) + 1)
	if h.IsSet() {
		t.Error("a caller that came late is expected soon")
	}
	for range 100 {
		h.PostLocked()
	}
	for range Enough {
		h.Leave(0, at(now))
		h.ComeLocked(now + int64(h.Within) + 100*int64(h.Each))
	}
	if !h.IsSet() {
		t.Error("a caller that posted a hundred times is to come as soon as one that posted once")
	}
}

// TestHabitCountsFromTheFirstPost, or, where the worker rests and there is no habit, from the last.
func TestHabitCountsFromTheFirstPost(t *testing.T) {
	h, now := newHabit(), int64(time.Hour)
	h.Leave(0, at(now))
	h.Leave(0, func() int64 { t.Error("the clock is read again"); return 0 })
	if h.ComeLocked(now + 1); h.IsPending() {
		t.Error("a caller that has come is waited for")
	}
	h.Rests = true
	h.LeaveAgain(0, at(now))
	h.LeaveAgain(0, at(now+int64(time.Second)))
	for range Enough {
		h.ComeLocked(now + int64(time.Second) + 1)
		h.LeaveAgain(0, at(now+int64(time.Second)))
	}
	if !h.IsSet() {
		t.Error("a caller that waits soon after its last post is not expected to")
	}
}

// TestHabitIsSampled: where the worker rests, some posts of a caller that waits soon show whether
// it still does, however many it makes before it waits; the others read no clock.
func TestHabitIsSampled(t *testing.T) {
	h := newHabit()
	h.Rests = true
	const waits = 1 << 12
	for posts := range 40 {
		h.Set(true)
		read := 0
		for range waits {
			for range posts + 1 {
				h.PostLocked()
			}
			h.Leave(h.PostsLocked(), func() int64 { read++; return 1 })
			if h.ComeLocked(2); h.IsPending() {
				t.Fatal("a caller that has come is waited for")
			}
		}
		if read < waits/12 || read > waits/6 {
			t.Errorf("of %d waits for %d posts each %d were timed, want about an eighth", waits, posts+1, read)
		}
	}
	for i := 0; h.IsSet(); i++ {
		h.PostLocked()
		h.Leave(h.PostsLocked(), at(1))
		if h.ComeLocked(int64(time.Second)); i > 64 {
			t.Fatal("a caller that comes late is expected soon")
		}
	}
	read := false
	if h.Leave(0, func() int64 { read = true; return 1 }); !read {
		t.Error("no clock is read though there is no habit")
	}
}
