package mpi

import (
	"iter"
	"slices"
	"sync"
)

// Limits of an Info, in bytes (MPI 4.1, chapter 10, MPI_MAX_INFO_KEY and MPI_MAX_INFO_VAL).
const (
	MaxInfoKey   = 255
	MaxInfoValue = 1 << 22 // more than Linux lets a program have as its arguments
)

// Info is a list of keys and values, texts that are hints to the library or that it tells
// a program (MPI 4.1, chapter 10). Its zero value is an empty one; a nil *Info stands for
// MPI_INFO_NULL and can be read as an empty one. Safe for concurrent use. It belongs to no
// communicator, so its errors are returned and go to no error handler; it needs no freeing.
type Info struct {
	mu    sync.Mutex
	pairs []infoPair // guarded by mu: in the order in which the keys were first set
}

type infoPair struct{ key, value string }

// InfoCreate returns an empty Info (MPI 4.1, chapter 10, MPI_Info_create).
func InfoCreate() *Info { return new(Info) }

// Set gives key the value, in place of one that it may have. A key that is empty or longer
// than MaxInfoKey is an error of class ErrInfoKey, a value longer than MaxInfoValue one of
// class ErrInfoValue, a nil Info one of class ErrInfo (MPI 4.1, chapter 10, MPI_Info_set).
func (i *Info) Set(key, value string) error {
	const op = "Info.Set"
	switch {
	case i == nil:
		return opErrorf(ErrInfo, op, "the info is nil: make one with InfoCreate")
	case key == "":
		return opErrorf(ErrInfoKey, op, "the key is empty")
	case len(key) > MaxInfoKey:
		return opErrorf(ErrInfoKey, op, "a key of %d bytes: need at most %d", len(key), MaxInfoKey)
	case len(value) > MaxInfoValue:
		return opErrorf(ErrInfoValue, op, "a value of %d bytes for %q: need at most %d", len(value), key, MaxInfoValue)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if at := i.findLocked(key); at >= 0 {
		i.pairs[at].value = value
	} else {
		i.pairs = append(i.pairs, infoPair{key, value})
	}
	return nil
}

// Get returns the value of key; ok says whether it has one
// (MPI 4.1, chapter 10, MPI_Info_get_string).
func (i *Info) Get(key string) (value string, ok bool) {
	if i == nil {
		return "", false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	at := i.findLocked(key)
	if at < 0 {
		return "", false
	}
	return i.pairs[at].value, true
}

// Delete removes key and its value. If there is none that is an error of class
// ErrInfoNokey (MPI 4.1, chapter 10, MPI_Info_delete).
func (i *Info) Delete(key string) error {
	const op = "Info.Delete"
	if i == nil {
		return opErrorf(ErrInfo, op, "the info is nil: make one with InfoCreate")
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	at := i.findLocked(key)
	if at < 0 {
		return opErrorf(ErrInfoNokey, op, "no key %q", key)
	}
	i.pairs = slices.Delete(i.pairs, at, at+1)
	return nil
}

// NKeys is the number of keys (MPI 4.1, chapter 10, MPI_Info_get_nkeys).
func (i *Info) NKeys() int { return len(i.snapshot()) }

// NthKey returns the n-th key, from 0. The numbers stay the same as long as no key is
// added or deleted. An n that is none of them is an error of class ErrArg
// (MPI 4.1, chapter 10, MPI_Info_get_nthkey).
func (i *Info) NthKey(n int) (string, error) {
	pairs := i.snapshot()
	if n < 0 || n >= len(pairs) {
		return "", opErrorf(ErrArg, "Info.NthKey", "key %d of %d: they are numbered from 0", n, len(pairs))
	}
	return pairs[n].key, nil
}

// Dup returns a copy with the same keys in the same order
// (MPI 4.1, chapter 10, MPI_Info_dup).
func (i *Info) Dup() *Info { return &Info{pairs: i.snapshot()} }

// All walks over the keys and values that there are when the walk begins.
func (i *Info) All() iter.Seq2[string, string] {
	return func(yield func(key, value string) bool) {
		for _, p := range i.snapshot() {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// snapshot is a copy of the pairs.
func (i *Info) snapshot() []infoPair {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.pairs)
}

// findLocked is the index of key, -1 if it is not there.
func (i *Info) findLocked(key string) int {
	return slices.IndexFunc(i.pairs, func(p infoPair) bool { return p.key == key })
}
