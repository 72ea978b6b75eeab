package rma

// Locks is the lock of one target's window: any number of ranks hold it shared, or one holds it
// exclusively. Ranks that have to wait do so in the order of asking, readers behind a writer too,
// so that no rank waits for ever. The zero value is a lock that is free.
type Locks struct {
	holders   map[int]int // how often each rank holds it
	exclusive bool        // the one holder does
	queue     []Waiter
}

// Waiter is a rank that asks for the lock.
type Waiter struct {
	Rank      int
	Tag       uint32 // of its answer
	Exclusive bool
}

// Acquire asks for the lock. It returns the waiters that get it now: w, or none.
func (l *Locks) Acquire(w Waiter) []Waiter {
	l.queue = append(l.queue, w)
	return l.grant()
}

// Release gives back what rank holds, once. It returns the waiters that get the lock now; ok is
// false if rank does not hold it.
func (l *Locks) Release(rank int) (granted []Waiter, ok bool) {
	if l.holders[rank] == 0 {
		return nil, false
	}
	if l.holders[rank]--; l.holders[rank] == 0 {
		delete(l.holders, rank)
	}
	l.exclusive = false
	return l.grant(), true
}

// Drop forgets a rank that is gone. If it held the lock, refused are all that wait: they cannot
// know what it was doing to the window. Then the lock is free of it, and granted are the waiters
// that get it now.
func (l *Locks) Drop(rank int) (refused, granted []Waiter) {
	kept := l.queue[:0]
	for _, w := range l.queue {
		if w.Rank != rank {
			kept = append(kept, w)
		}
	}
	l.queue = kept
	if l.holders[rank] > 0 {
		delete(l.holders, rank)
		l.exclusive = false
		refused, l.queue = l.queue, nil
	}
	return refused, l.grant()
}

// IsHeldBy reports whether rank holds the lock.
func (l *Locks) IsHeldBy(rank int) bool { return l.holders[rank] > 0 }

// grant gives the lock to the ranks that wait, from the first on, as long as they may have it.
func (l *Locks) grant() (granted []Waiter) {
	for len(l.queue) > 0 {
		w := l.queue[0]
		if l.exclusive || w.Exclusive && len(l.holders) > 0 {
			break
		}
		if l.holders == nil {
			l.holders = make(map[int]int)
		}
		l.holders[w.Rank]++
		l.exclusive = w.Exclusive
		granted, l.queue = append(granted, w), l.queue[1:]
	}
	if len(l.queue) == 0 {
		l.queue = nil
	}
	return granted
}
