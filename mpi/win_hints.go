//go:build linux

package mpi

import "sync"

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
func (w *Win) SetInfo(info *Info) (outcome error) {
	defer w.begin("SetInfo").endAt(&outcome)
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
