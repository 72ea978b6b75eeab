package mpi

import (
	"sync"
)

// WinKeyval is a key under which a value of type T can be cached on each window (MPI 4.1, section
// 7.7.3). It is to windows what [Keyval] is to communicators. Its methods are local.
type WinKeyval[T any] struct{ key *attributeKey[*Win] }

// WinKeyvalCreate makes a key (MPI 4.1, section 7.7.3, MPI_Win_create_keyval).
//
// delete is called with a value that is about to go: when Set replaces it, when Delete deletes it,
// and when Free frees its window, before anything of that is undone, the newest value first. An
// error makes the call fail that caused it, and the value stays. nil: nothing is to do
// (MPI_WIN_NULL_DELETE_FN).
//
// There is no copy function: windows are not duplicated, so nothing would call it.
func WinKeyvalCreate[T any](delete func(w *Win, v T) error) *WinKeyval[T] {
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
		return opErrorf(ErrKeyval, op, "the key is nil: make one with WinKeyvalCreate")
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

// WinErrhandler decides what happens with an error of an operation on a window: it may return it
// (or another), or end the job (MPI 4.1, sections 9.3 and 12.6). [ErrorsAreFatal], [ErrorsAbort]
// and [ErrorsReturn] fit. A window begins with ErrorsReturn under Main and in RunThreads, else with
// ErrorsAreFatal, whatever its communicator has. Errors of the functions that make windows go to
// the error handler of the communicator, as there is no window yet.
//
// A call whose arguments are refused does nothing. After any other error of a call it is undefined
// what has happened to the memory of the window, and to the calls that no synchronisation had ended
// yet (MPI 4.1, section 12.6.2).
type WinErrhandler func(w *Win, err *Error) error

// SetErrhandler sets what happens with errors of operations on w, at this rank (MPI 4.1, section
// 9.3.2). nil panics.
func (w *Win) SetErrhandler(h WinErrhandler) {
	if h == nil {
		panic("mpi: SetErrhandler needs a handler, got nil: ErrorsReturn gives errors to the caller")
	}
	w.errh.Store(&h)
}

// Errhandler returns what SetErrhandler set, or what w began with (MPI 4.1, section 9.3.2).
func (w *Win) Errhandler() WinErrhandler { return *w.errh.Load() }

// CallErrhandler gives an error of the caller's own to the error handler of w, as if an operation
// on w had failed with it. It returns what the handler returns (MPI 4.1, section 9.5). An [*Error]
// keeps its operation and place; any other error becomes the cause of one, whose class is that of
// cause: see ClassOf. nil is no error, and no handler is called.
func (w *Win) CallErrhandler(cause error) (err error) {
	defer w.begin("CallErrhandler").endAt(&err)
	const op = "CallErrhandler"
	if bad := w.present(op); bad != nil {
		return w.fail(bad)
	}
	if cause == nil {
		return nil
	}
	e, ok := cause.(*Error)
	if !ok {
		return w.fail(opError(ClassOf(cause), op, cause))
	}
	own := *e // the handler may keep it, and may change it
	if own.Comm == "" {
		return w.fail(&own)
	}
	return w.Errhandler()(w, &own)
}

// deal gives an error that is complete to the error handler. The communicator of w has it as its
// own.
func (w *Win) deal(_ *Comm, err *Error) error { return w.Errhandler()(w, err) }

// abortFor ends the job because of err.
func (w *Win) abortFor(err *Error, message string) { w.comm.abortFor(err, message) }

// membersText says which ranks belong to w.
func (w *Win) membersText() string { return w.comm.membersText() }

// winHintNames are the hints of windows that the standard defines, with what holds until they are
// set (MPI 4.1, section 12.2.8 and section 12.2.1).
var winHintNames = [...]struct{ name, value string }{
	{"no_locks", "false"},
	{"accumulate_ordering", "rar,raw,war,waw"},
	{"accumulate_ops", "same_op_no_op"},
	{"mpi_accumulate_granularity", "0"},
	{"same_size", "false"},
	{"same_disp_unit", "false"},
	{"alloc_shared_noncontig", "false"},
}

// winHints are those of one window.
type winHints struct {
	mu     sync.Mutex
	values map[string]string // guarded by mu: those that were set
}

// SetInfo gives w the hints of info; keys that are not known are ignored. They are promises by the
// program; only no_locks is looked at: with it, Lock and LockAll are errors of class [ErrRMASync].
// Accumulates are ordered and atomic whatever is promised. A nil info is an error of class
// [ErrInfo]. All ranks of w must give the same; it does not wait for them (MPI 4.1, section 12.2.8,
// MPI_Win_set_info).
func (w *Win) SetInfo(info *Info) (err error) {
	defer w.begin("SetInfo").endAt(&err)
	const op = "SetInfo"
	if err := w.present(op); err != nil {
		return w.fail(err)
	}
	if info == nil {
		return w.fail(opErrorf(ErrInfo, op, "the info is nil: make one with InfoCreate"))
	}
	w.hints.set(info)
	return nil
}

// set takes over the hints of info that are known.
func (h *winHints) set(info *Info) {
	for _, known := range winHintNames {
		if v, ok := info.Get(known.name); ok {
			h.put(known.name, v)
		}
	}
}

// put sets one.
func (h *winHints) put(name, value string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.values == nil {
		h.values = make(map[string]string)
	}
	h.values[name] = value
}

// Info returns the hints of w, those that no call has set included. The result is the caller's own
// (MPI 4.1, section 12.2.8, MPI_Win_get_info).
func (w *Win) Info() *Info {
	info := InfoCreate()
	for _, h := range winHintNames {
		info.setKnown(h.name, w.hints.get(h.name, h.value))
	}
	return info
}

// get is the value of a hint, otherwise if it was not set.
func (h *winHints) get(name, otherwise string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if v, ok := h.values[name]; ok {
		return v
	}
	return otherwise
}
