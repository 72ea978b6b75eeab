package rma

import (
	"errors"
	"maps"
	"slices"
)

// Errors of Epochs: what is wrong, and what to do.
var (
	ErrNoEpoch      = errors.New("no access epoch for this target is open: call Fence, Start or Lock first")
	ErrInFence      = errors.New("operations of a fence epoch are under way: call Fence first")
	ErrInStart      = errors.New("an access epoch that Start began is open: call Complete first")
	ErrInLock       = errors.New("a lock is held: call Unlock, or UnlockAll, first")
	ErrInPost       = errors.New("an exposure epoch that Post began is open: call Wait first")
	ErrNotStarted   = errors.New("no access epoch is open that Start began")
	ErrNotPosted    = errors.New("no exposure epoch is open that Post began")
	ErrLockedTwice  = errors.New("this target is locked already: call Unlock first")
	ErrNotLocked    = errors.New("this target is not locked")
	ErrNotLockedAll = errors.New("LockAll was not called")
	ErrNotPassive   = errors.New("no passive target epoch for this target is open: call Lock or LockAll first")
	ErrNoLocks      = errors.New("the window was given the hint no_locks")
)

// Epochs says which epochs are open at one rank of a window (MPI 4.1, section 12.5). The zero value
// has none. Each method that begins or ends one returns an error, and changes nothing, if that must
// not be now.
type Epochs struct {
	fenced bool // Fence was called last, without the word that nothing succeeds
	used   bool // operations since then
	start  map[int]bool
	post   bool
	all    bool         // LockAll
	locks  map[int]bool // targets that are locked

	unchecked    map[int]bool // those of them that no lock was asked of
	allUnchecked bool         // LockAll asked for none
}

// Access says that an operation with target begins.
func (e *Epochs) Access(target int) error {
	switch {
	case e.start[target] || e.all || e.locks[target]:
		return nil
	case e.fenced && e.start == nil && len(e.locks) == 0:
		e.used = true
		return nil
	}
	return ErrNoEpoch
}

// CanFence says why Fence must not be called.
func (e *Epochs) CanFence() error {
	switch {
	case e.start != nil:
		return ErrInStart
	case e.all || len(e.locks) > 0:
		return ErrInLock
	case e.post:
		return ErrInPost
	}
	return nil
}

// Fence ends a fence epoch and, unless it is the last, begins another.
func (e *Epochs) Fence(last bool) { e.fenced, e.used = !last, false }

// CanStart says why Start must not be called.
func (e *Epochs) CanStart() error {
	switch {
	case e.used:
		return ErrInFence
	case e.start != nil:
		return ErrInStart
	case e.all || len(e.locks) > 0:
		return ErrInLock
	}
	return nil
}

// Start begins an access epoch for targets.
func (e *Epochs) Start(targets []int) error {
	if err := e.CanStart(); err != nil {
		return err
	}
	e.fenced = false
	e.start = make(map[int]bool, len(targets))
	for _, t := range targets {
		e.start[t] = true
	}
	return nil
}

// Started are the targets of the epoch that Start began, in order.
func (e *Epochs) Started() []int { return slices.Sorted(maps.Keys(e.start)) }

// CanComplete says why Complete must not be called.
func (e *Epochs) CanComplete() error {
	if e.start == nil {
		return ErrNotStarted
	}
	return nil
}

// Complete ends what Start began.
func (e *Epochs) Complete() { e.start = nil }

// CanPost says why Post must not be called.
func (e *Epochs) CanPost() error {
	switch {
	case e.used:
		return ErrInFence
	case e.post:
		return ErrInPost
	}
	return nil
}

// Post begins an exposure epoch.
func (e *Epochs) Post() error {
	if err := e.CanPost(); err != nil {
		return err
	}
	e.fenced, e.post = false, true
	return nil
}

// CanWait says why Wait or Test must not be called.
func (e *Epochs) CanWait() error {
	if !e.post {
		return ErrNotPosted
	}
	return nil
}

// Wait ends what Post began.
func (e *Epochs) Wait() { e.post = false }

// CanLock says why target must not be locked; with target < 0 why LockAll must not be called.
func (e *Epochs) CanLock(target int) error {
	switch {
	case e.used:
		return ErrInFence
	case e.start != nil:
		return ErrInStart
	case e.all || target < 0 && len(e.locks) > 0:
		return ErrInLock
	case e.locks[target]:
		return ErrLockedTwice
	}
	return nil
}

// Lock says that target is locked; with target < 0 that all are. unchecked says that no lock was
// asked for.
func (e *Epochs) Lock(target int, unchecked bool) {
	e.fenced = false
	if target < 0 {
		e.all, e.allUnchecked = true, unchecked
		return
	}
	if e.locks == nil {
		e.locks, e.unchecked = make(map[int]bool), make(map[int]bool)
	}
	e.locks[target], e.unchecked[target] = true, unchecked
}

// IsUnchecked reports whether what is locked was locked without a lock.
func (e *Epochs) IsUnchecked(target int) bool {
	if target < 0 {
		return e.allUnchecked
	}
	return e.unchecked[target]
}

// CanUnlock says why target must not be unlocked; with target < 0 why UnlockAll must not be called.
func (e *Epochs) CanUnlock(target int) error {
	switch {
	case target < 0 && !e.all:
		return ErrNotLockedAll
	case target >= 0 && !e.locks[target]:
		return ErrNotLocked
	}
	return nil
}

// Unlock is the reverse of Lock.
func (e *Epochs) Unlock(target int) {
	if target < 0 {
		e.all = false
	} else {
		delete(e.locks, target)
		delete(e.unchecked, target)
	}
}

// CanFlush says why target must not be flushed; with target < 0 why all must not be.
func (e *Epochs) CanFlush(target int) error {
	if e.all || e.locks[target] || target < 0 && len(e.locks) > 0 {
		return nil
	}
	return ErrNotPassive
}

// CanFree says why the window must not be freed.
func (e *Epochs) CanFree() error {
	switch {
	case e.used:
		return ErrInFence
	case e.start != nil:
		return ErrInStart
	case e.all || len(e.locks) > 0:
		return ErrInLock
	case e.post:
		return ErrInPost
	}
	return nil
}
