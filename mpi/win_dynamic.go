//go:build linux

package mpi

import "slices"

// WinCreateDynamic makes a window without memory, which each rank gives it, and takes back, by
// WinAttach and WinDetach (MPI 4.1, section 12.2.4). Displacements count bytes, from those that
// WinAttach returns. Collective; see WinCreate.
func WinCreateDynamic(c *Comm) (made *Win, outcome error) {
	defer c.begin("WinCreateDynamic").endAt(&outcome)
	const op = "WinCreateDynamic"
	if err := c.canWindow(op); err != nil {
		return nil, c.fail(err)
	}
	return makeWin(c, op, FlavorDynamic, nil, 1)
}

// regionGap is a distance between the regions of a dynamic window, in bytes, so that what runs out
// of one is in none.
const regionGap = 1 << 20

// WinAttach gives the window memory of the caller's, which others may use from now on, until
// WinDetach or Free: at disp is its first byte, and they have to be told so (MPI 4.1, section
// 12.2.4). It takes the place of MPI_Get_address. Memory may be attached once only; else, or if w
// is not dynamic, the error is of class [ErrRMAAttach] or [ErrRMAFlavor]. What an operation means
// must lie in one such piece of memory. It is local.
func WinAttach[T any](w *Win, mem []T) (disp int, outcome error) {
	defer w.begin("WinAttach").endAt(&outcome)
	const op = "WinAttach"
	if err := dynamicWith[T](w, op); err != nil {
		return 0, w.fail(err)
	}
	disp, ok := w.served.memory.attach(bytesOf(mem))
	if !ok {
		return 0, w.fail(opErrorf(ErrRMAAttach, op, "the memory, or some of it, is attached already: detach it first"))
	}
	return disp, nil
}

// WinDetach takes memory back that was given to WinAttach (MPI 4.1, section 12.2.4). Operations
// that concern it must be complete. Memory that is not attached is an error of class
// [ErrRMAAttach]. It is local.
func WinDetach[T any](w *Win, mem []T) (outcome error) {
	defer w.begin("WinDetach").endAt(&outcome)
	const op = "WinDetach"
	if err := dynamicWith[T](w, op); err != nil {
		return w.fail(err)
	}
	if !w.served.memory.detach(bytesOf(mem)) {
		return w.fail(opErrorf(ErrRMAAttach, op, "the memory is not attached: give what WinAttach was given"))
	}
	return nil
}

func dynamicWith[T any](w *Win, op string) *Error {
	if err := w.present(op); err != nil {
		return err
	}
	if w.flavor != FlavorDynamic {
		return opErrorf(ErrRMAFlavor, op, "the window was not made by WinCreateDynamic: its memory is fixed")
	}
	_, err := windowElem[T](op)
	return err
}

// attach adds mem; ok is false if some of it is there already.
func (r *regions) attach(mem []byte) (at int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if overlap(r.list[i].mem, mem) {
			return 0, false
		}
	}
	if r.next == 0 {
		r.next = regionGap
	}
	at = r.next
	r.list = append(r.list, region{at, mem})
	r.next += (len(mem)+regionGap-1)/regionGap*regionGap + regionGap
	return at, true
}

// detach takes mem away.
func (r *regions) detach(mem []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.list, func(x region) bool { return len(x.mem) == len(mem) && (len(mem) == 0 || &x.mem[0] == &mem[0]) })
	if i < 0 {
		return false
	}
	r.list = slices.Delete(r.list, i, i+1)
	return true
}
