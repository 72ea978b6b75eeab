//go:build linux

package mpi

// WinKeyval is a key under which a value of type T can be cached on each window (MPI 4.1, section
// 7.7.3). It is to windows what [Keyval] is to communicators. Its methods are local.
type WinKeyval[T any] struct{ key *attributeKey[*Win] }

// NewWinKeyval makes a key (MPI 4.1, section 7.7.3, MPI_Win_create_keyval).
//
// delete is called with a value that is about to go: when Set replaces it, when Delete deletes it,
// and when Free frees its window, before anything of that is undone, the newest value first. An
// error makes the call fail that caused it, and the value stays. nil: nothing is to do
// (MPI_WIN_NULL_DELETE_FN).
//
// There is no copy function: windows are not duplicated, so nothing would call it.
func NewWinKeyval[T any](delete func(w *Win, v T) error) *WinKeyval[T] {
	k := &attributeKey[*Win]{}
	if delete != nil {
		k.delete = func(w *Win, v any) error { return delete(w, valueAs[T](v)) }
	}
	return &WinKeyval[T]{k}
}

// Set caches v on w (MPI 4.1, section 7.7.3, MPI_Win_set_attr). A value that was there is deleted
// first; if that fails it stays, and Set returns its error. After Free of the key it is an error of
// class [ErrKeyval].
func (k *WinKeyval[T]) Set(w *Win, v T) error {
	const op = "WinKeyval.Set"
	if err := k.usable(op, w); err != nil {
		return w.fail(err)
	}
	if k.key.isFreed() {
		return w.fail(opErrorf(ErrKeyval, op, "the key was freed: it takes no new values"))
	}
	if err := w.attrs.set(w, k.key, v); err != nil {
		return w.fail(opError(classOr(err, ErrOther), op, &callbackError{"deleting the old value", err}))
	}
	return nil
}

// usable says what is wrong with a key and a window, if anything.
func (k *WinKeyval[T]) usable(op string, w *Win) *Error {
	if err := w.present(op); err != nil {
		return err
	}
	if k == nil || k.key == nil {
		return opErrorf(ErrKeyval, op, "the key is nil: make one with NewWinKeyval")
	}
	return nil
}

// Get returns the value cached on w under k, and whether there is one (MPI 4.1, section 7.7.3,
// MPI_Win_get_attr). A nil window, or one that was freed, has none. What the standard has as
// predefined attributes are methods of [Win]: Size, DispUnit, Flavor and Model, and the function
// [WinBase].
func (k *WinKeyval[T]) Get(w *Win) (v T, ok bool) {
	if w == nil || w.win == nil || k == nil || k.key == nil {
		return v, false
	}
	x, ok := w.attrs.get(k.key)
	return valueAs[T](x), ok
}

// Delete deletes the value cached on w under k (MPI 4.1, section 7.7.3, MPI_Win_delete_attr). If
// there is none it is an error of class [ErrKeyval]. If the delete function fails the value stays,
// and Delete returns its error.
func (k *WinKeyval[T]) Delete(w *Win) error {
	const op = "WinKeyval.Delete"
	if err := k.usable(op, w); err != nil {
		return w.fail(err)
	}
	found, err := w.attrs.remove(w, k.key)
	switch {
	case err != nil:
		return w.fail(opError(classOr(err, ErrOther), op, &callbackError{"deleting the value", err}))
	case !found:
		return w.fail(opErrorf(ErrKeyval, op, "the window has no value under this key"))
	}
	return nil
}

// Free says that no value will be set under k any more (MPI 4.1, section 7.7.3,
// MPI_Win_free_keyval). Values that are there stay, with their function, until they are deleted
// with Delete or with their windows.
func (k *WinKeyval[T]) Free() {
	if k != nil && k.key != nil {
		k.key.free()
	}
}

// deleteAttributes deletes the attributes of w, the newest first, until a delete function fails.
func (w *Win) deleteAttributes() *Error {
	if err := w.attrs.clear(w); err != nil {
		return opError(classOr(err, ErrOther), "Free", &callbackError{"deleting an attribute", err})
	}
	return nil
}
