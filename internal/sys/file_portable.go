//go:build !linux || fitmpi_portable

package sys

import (
	"os"
	"sync"
)

// held are the locks that this process has on ranges of files. Without Linux all ranks of a job are
// of one process, so a list of its own is enough.
var held = newLocks()

// locks is such a list.
type locks struct {
	mu    sync.Mutex
	freed *sync.Cond         // on mu: a lock was given back
	all   map[*lock]struct{} // guarded by mu
}

func newLocks() *locks {
	ls := &locks{all: make(map[*lock]struct{})}
	ls.freed = sync.NewCond(&ls.mu)
	return ls
}

// take waits until nothing excludes l.
func (ls *locks) take(l *lock) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for ls.isExcludedLocked(l) {
		ls.freed.Wait()
	}
	ls.all[l] = struct{}{}
}

func (ls *locks) isExcludedLocked(l *lock) bool {
	for o := range ls.all {
		if o.excludes(l) {
			return true
		}
	}
	return false
}

// give gives l back.
func (ls *locks) give(l *lock) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	delete(ls.all, l)
	ls.freed.Broadcast()
}

// lock is one range of one file. Immutable.
type lock struct {
	file   os.FileInfo
	lo, hi int
	write  bool
}

// excludes reports whether the two cannot be held together.
func (l *lock) excludes(o *lock) bool {
	return (l.write || o.write) && l.lo < o.hi && o.lo < l.hi && os.SameFile(l.file, o.file)
}

// LockRange waits until f has a lock on n bytes from off on, to write or only to read. It returns
// what gives the lock back. The lock keeps out other callers of this process. It keeps out no other
// process: see the one for Linux.
func LockRange(f *os.File, off, n int, write bool) (unlock func() error, err error) {
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	mine := &lock{st, off, off + n, write}
	held.take(mine)
	return func() error {
		held.give(mine)
		return nil
	}, nil
}

// Inode is 0: the number of a file is not known. What ranks of one process open by one name is one
// file.
func Inode(os.FileInfo) uint64 { return 0 }

// Allocate makes f at least n bytes long, with zeros that are written: the system has room for
// these, if it has no way to keep them without.
func Allocate(f *os.File, n int) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	zeros := make([]byte, 1<<20)
	for at := st.Size(); at < int64(n); {
		k, err := f.WriteAt(zeros[:min(int64(len(zeros)), int64(n)-at)], at)
		if err != nil {
			return err
		}
		at += int64(k)
	}
	return nil
}
