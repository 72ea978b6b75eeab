//go:build linux

package mpi

import (
	"errors"
	"slices"
	"sync"
)

// attributes are what users and libraries have cached on one object (MPI 4.1, section 7.7). O is
// what the callbacks get to see of the object: *Comm for a communicator; data types and windows
// have attributes of their own kind.
//
// The callbacks run without the mutex: they may use the object and its attributes. An attribute
// whose delete function runs is off the list meanwhile, so that no value is deleted twice.
type attributes[O any] struct {
	mu   sync.Mutex
	list []attribute[O] // in the order in which they were set; guarded by mu
}

// attribute is one value under its key.
type attribute[O any] struct {
	key   *attributeKey[O]
	value any
}

// attributeKey is a key for objects of kind O: what tells one from another is its address.
type attributeKey[O any] struct {
	// Immutable. They deal in the type of the key's values; nil: null functions.
	copy   func(old O, v any) (any, bool, error)
	delete func(o O, v any) error

	mu    sync.Mutex
	freed bool // guarded by mu: no value may be set any more
}

func (k *attributeKey[O]) isFreed() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.freed
}

func (k *attributeKey[O]) free() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.freed = true
}

func (a *attributes[O]) indexLocked(k *attributeKey[O]) int {
	return slices.IndexFunc(a.list, func(x attribute[O]) bool { return x.key == k })
}

// get returns the value under k.
func (a *attributes[O]) get(k *attributeKey[O]) (any, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.indexLocked(k)
	if i < 0 {
		return nil, false
	}
	return a.list[i].value, true
}

// set deletes the value under k, if there is one, and makes v the newest value. If the delete
// function fails the old value stays.
func (a *attributes[O]) set(o O, k *attributeKey[O], v any) error {
	for {
		a.mu.Lock()
		if a.indexLocked(k) < 0 {
			a.list = append(a.list, attribute[O]{k, v})
			a.mu.Unlock()
			return nil
		}
		a.mu.Unlock()
		if _, err := a.remove(o, k); err != nil {
			return err
		}
	}
}

// take takes the value under k off the list, where it was at index i; i is negative if there was
// none.
func (a *attributes[O]) take(k *attributeKey[O]) (x attribute[O], i int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i = a.indexLocked(k); i >= 0 {
		x = a.list[i]
		a.list = slices.Delete(a.list, i, i+1)
	}
	return x, i
}

// callDelete calls the delete function of x, which is off the list.
func (x attribute[O]) callDelete(o O) error {
	if x.key.delete == nil {
		return nil
	}
	return x.key.delete(o, x.value)
}

// remove deletes the value under k and reports whether there was one. If its delete function fails
// it stays.
func (a *attributes[O]) remove(o O, k *attributeKey[O]) (found bool, err error) {
	x, i := a.take(k)
	if i < 0 {
		return false, nil
	}
	if err := x.callDelete(o); err != nil {
		a.restore(i, x)
		return true, err
	}
	return true, nil
}

// restore puts x back to its place, unless its key has got another value meanwhile.
func (a *attributes[O]) restore(i int, x attribute[O]) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.indexLocked(x.key) < 0 {
		a.list = slices.Insert(a.list, min(i, len(a.list)), x)
	}
}

// newest returns the key that was set last; nil if there is none.
func (a *attributes[O]) newest() *attributeKey[O] {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.list) == 0 {
		return nil
	}
	return a.list[len(a.list)-1].key
}

// clear deletes all values, the newest first, until a delete function fails.
func (a *attributes[O]) clear(o O) error {
	for k := a.newest(); k != nil; k = a.newest() {
		if _, err := a.remove(o, k); err != nil {
			return err
		}
	}
	return nil
}

// purge deletes all values, the newest first, whatever their delete functions say.
func (a *attributes[O]) purge(o O) (errs []error) {
	for k := a.newest(); k != nil; k = a.newest() {
		if x, i := a.take(k); i >= 0 {
			if err := x.callDelete(o); err != nil {
				errs = append(errs, err)
			}
		}
	}
	return errs
}

// copyTo gives b, of a new duplicate n of o, what the copy functions make of the values, in the
// order in which they were set. If one fails b is cleared, so that nothing copied by then is lost
// without its delete function.
func (a *attributes[O]) copyTo(o, n O, b *attributes[O]) error {
	a.mu.Lock()
	list := slices.Clone(a.list)
	a.mu.Unlock()
	for _, x := range list {
		if x.key.copy == nil {
			continue
		}
		v, keep, err := x.key.copy(o, x.value)
		if err == nil && keep {
			err = b.set(n, x.key, v)
		}
		if err != nil {
			return errors.Join(err, b.clear(n))
		}
	}
	return nil
}

// copyAttributesTo gives n, a duplicate of c that the user has not seen, the attributes of c that
// their copy functions let it have.
func (c *Comm) copyAttributesTo(n *Comm) *Error {
	if err := c.attrs.copyTo(c, n, &n.attrs); err != nil {
		return opError(classOr(err, ErrOther), "Dup", &callbackError{"copying an attribute", err})
	}
	return nil
}

// deleteAttributes deletes the attributes of c, the newest first, until a delete function fails.
func (c *Comm) deleteAttributes() *Error {
	if err := c.attrs.clear(c); err != nil {
		return opError(classOr(err, ErrOther), "Free", &callbackError{"deleting an attribute", err})
	}
	return nil
}

// deleteAttributes deletes those of self, then those of world. MPI 4.1, section 11.2.4: Finalize
// begins with that, and the attributes of self go in the reverse of the order in which they were
// set, before anything else of MPI is affected. A function that fails keeps no other from running.
func (j *job) deleteAttributes() error {
	var errs []error
	for _, c := range []*Comm{j.self, j.world} {
		for _, err := range c.attrs.purge(c) {
			e := opError(classOr(err, ErrOther), "Finalize", &callbackError{"deleting an attribute", err})
			errs = append(errs, e.on(c.rank, c.Name()))
		}
	}
	return errors.Join(errs...)
}

// callbackError says during what a function of the user's failed.
type callbackError struct {
	during string
	cause  error
}

func (e *callbackError) Error() string { return e.during + ": " + e.cause.Error() }
func (e *callbackError) Unwrap() error { return e.cause }
