//go:build linux

package mpi

// Keyval is a key under which a value of type T can be cached on each communicator (MPI 4.1,
// section 7.7.2): a library that is given a communicator finds there what it left there, such as
// its own duplicate of it.
//
// One Keyval serves all communicators of the process, and its methods may be called by any
// goroutine. They are local.
type Keyval[T any] struct{ key *attributeKey[*Comm] }

// NewKeyval makes a key (MPI 4.1, section 7.7.2, MPI_Comm_create_keyval).
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
func NewKeyval[T any](copy func(old *Comm, v T) (T, bool, error), delete func(c *Comm, v T) error) *Keyval[T] {
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
		return c.fail(opErrorf(ErrKeyval, op, "the key is nil: make one with NewKeyval"))
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
		return c.fail(opErrorf(ErrKeyval, op, "the key is nil: make one with NewKeyval"))
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
