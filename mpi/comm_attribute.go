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

// Keyval is a key under which a value of type T can be cached on each communicator (MPI 4.1,
// section 7.7.2). A library that is given a communicator finds there what it left there, such as
// its own duplicate of it.
//
// One Keyval serves all communicators of the process, and its methods may be called by any
// goroutine. They are local.
type Keyval[T any] struct{ key *attributeKey[*Comm] }

// KeyvalCreate makes a key (MPI 4.1, section 7.7.2, MPI_Comm_create_keyval).
//
// copy is called when a communicator that has a value v is duplicated: it returns the value of the
// duplicate, and whether it gets one. An error makes Dup fail. nil: the duplicate gets none
// (MPI_COMM_NULL_COPY_FN). [CopyAttribute] gives it the same value (MPI_COMM_DUP_FN). The values
// are copied in the order in which they were set.
//
// delete is called with a value that is about to go: when Set replaces it, when Delete deletes it,
// when its communicator is freed, and for world and self at Finalize. An error makes the call fail
// that caused it, and the value stays, except that Finalize goes on. nil: nothing is to do
// (MPI_COMM_NULL_DELETE_FN).
//
// Both may use the communicator. While delete runs, Get no longer finds the value.
func KeyvalCreate[T any](copy func(old *Comm, v T) (T, bool, error), delete func(c *Comm, v T) error) *Keyval[T] {
	k := &attributeKey[*Comm]{}
	if copy != nil {
		k.copy = func(old *Comm, v any) (any, bool, error) { return copy(old, valueAs[T](v)) }
	}
	if delete != nil {
		k.delete = func(c *Comm, v any) error { return delete(c, valueAs[T](v)) }
	}
	return &Keyval[T]{k}
}

// CopyAttribute is the copy function by which a duplicate gets the same value (MPI 4.1, section
// 7.7.2, MPI_COMM_DUP_FN).
func CopyAttribute[T any](_ *Comm, v T) (T, bool, error) { return v, true, nil }

// Set caches v on c (MPI 4.1, section 7.7.2, MPI_Comm_set_attr). A value that was there is deleted
// first; if that fails it stays, and Set returns its error. After Free it is an error of class
// [ErrKeyval].
func (k *Keyval[T]) Set(c *Comm, v T) error {
	const op = "Keyval.Set"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	if k == nil || k.key == nil {
		return c.fail(opErrorf(ErrKeyval, op, "the key is nil: make one with KeyvalCreate"))
	}
	if k.key.isFreed() {
		return c.fail(opErrorf(ErrKeyval, op, "the key was freed: it takes no new values"))
	}
	if err := c.attrs.set(c, k.key, v); err != nil {
		return c.fail(opError(classOr(err, ErrOther), op, &callbackError{"deleting the old value", err}))
	}
	return nil
}

// Get returns the value cached on c under k, and whether there is one (MPI 4.1, section 7.7.2,
// MPI_Comm_get_attr). A nil communicator, or one that was freed, has none.
func (k *Keyval[T]) Get(c *Comm) (v T, ok bool) {
	if c == nil || c.comm == nil || k == nil || k.key == nil {
		return v, false
	}
	x, ok := c.attrs.get(k.key)
	return valueAs[T](x), ok
}

// valueAs is x as the T that it was; a nil interface is the nil of any T that is an interface.
func valueAs[T any](x any) T {
	v, _ := x.(T)
	return v
}

// Delete deletes the value cached on c under k (MPI 4.1, section 7.7.2, MPI_Comm_delete_attr). If
// there is none it is an error of class [ErrKeyval]. If the delete function fails the value stays,
// and Delete returns its error.
func (k *Keyval[T]) Delete(c *Comm) error {
	const op = "Keyval.Delete"
	if err := c.present(op); err != nil {
		return c.fail(err)
	}
	if k == nil || k.key == nil {
		return c.fail(opErrorf(ErrKeyval, op, "the key is nil: make one with KeyvalCreate"))
	}
	found, err := c.attrs.remove(c, k.key)
	switch {
	case err != nil:
		return c.fail(opError(classOr(err, ErrOther), op, &callbackError{"deleting the value", err}))
	case !found:
		return c.fail(opErrorf(ErrKeyval, op, "the communicator has no value under this key"))
	}
	return nil
}

// Free says that no value will be set under k any more (MPI 4.1, section 7.7.2,
// MPI_Comm_free_keyval). Values that are there stay, with their functions, until they are deleted
// with Delete or with their communicators; a duplicate still gets them.
func (k *Keyval[T]) Free() {
	if k != nil && k.key != nil {
		k.key.free()
	}
}
