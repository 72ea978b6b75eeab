package calls

import (
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// win is a window of C. For package mpi it is one of bytes.
type win struct {
	*mpi.Win
	h      handle
	units  []int32 // bytes of a unit of displacement, at each rank
	errh   atomic.Pointer[errhandler]
	name   atomic.Pointer[string]
	attrs  attributes
	values *winValues // of its predefined attributes
	memory []byte     // of its own rank
	hints  atomic.Pointer[info]
	comm   *mpi.Comm

	mu       sync.Mutex
	attached map[int64]int // guarded by mu: bytes of what is attached to a dynamic window, by address
}

// winValues are on the heap, where C reads them as long as there is the window.
type winValues struct {
	size, unit, flavor, model int64
}

var wins = table[win]{kind: kindWin, null: abi.WinNull, code: abi.ErrWin, what: "window"}

func (w *win) handler() *errhandler { return w.errh.Load() }
func (w *win) self() handle         { return w.h }
func (w *win) abort(text string)    { w.comm.Abort(1, text) }

// win is the window of an argument. Errors of the call go to its error handler.
func (c *call) win(i int) *win {
	w := wins.get(handle(c.args[i]))
	c.on = w
	return w
}

// flavors are those of windows as the ABI has them.
var flavors = map[mpi.WinFlavor]int64{
	mpi.FlavorCreate: abi.WinFlavorCreate, mpi.FlavorAllocate: abi.WinFlavorAllocate, mpi.FlavorShared: abi.WinFlavorShared,
	mpi.FlavorDynamic: abi.WinFlavorDynamic,
}

func init() {
	register(procedure.WinCreate, winCreate)
	register(procedure.WinAllocate, func(c *call) error { return winAllocate(c, mpi.WinAllocate[byte]) })
	register(procedure.WinAllocateShared, func(c *call) error { return winAllocate(c, mpi.WinAllocateShared[byte]) })
	register(procedure.WinCreateDynamic, winCreateDynamic)
	register(procedure.WinAttach, winAttach)
	register(procedure.WinDetach, winDetach)
	register(procedure.WinSharedQuery, winSharedQuery)
	register(procedure.WinFree, winFree)
	register(procedure.WinGetGroup, func(c *call) error { return c.giveGroup(1, c.win(0).Group(), nil) })
	register(procedure.WinSetInfo, func(c *call) error {
		w, hints := c.win(0), c.infoOr(1)
		if hints == nil {
			return nil
		}
		w.hints.Store(hints.dup())
		return w.SetInfo(hints.i)
	})
	register(procedure.WinGetInfo, func(c *call) error {
		w := c.win(0)
		all := &info{w.Win.Info()}
		if hints := w.hints.Load(); hints != nil {
			for k, v := range hints.i.All() {
				_ = all.i.Set(k, v)
			}
		}
		c.setHandle(1, infos.add(all))
		return nil
	})
	register(procedure.WinSetName, func(c *call) error {
		w, name := c.win(0), c.text(1)
		w.name.Store(&name)
		return w.SetName(name)
	})
	register(procedure.WinGetName, func(c *call) error {
		c.setText(1, *c.win(0).name.Load(), abi.MaxObjectName, 2)
		return nil
	})
	register(procedure.WinSetErrhandler, func(c *call) error {
		c.win(0).errh.Swap(errhandlers.get(handle(c.args[1])).use()).release()
		return nil
	})
	register(procedure.WinGetErrhandler, func(c *call) error {
		c.setHandle(1, c.win(0).handler().use().h)
		return nil
	})
	register(procedure.WinCallErrhandler, func(c *call) error {
		raise(c.win(0), c.int(1), c.name()+": "+textOfCode(c.int(1)))
		return nil
	})
	onWin := func(c *call) (*attributes, handle, kind) { w := c.win(0); return &w.attrs, w.h, kindWin }
	register(procedure.WinSetAttr, func(c *call) error { return setAttribute(c, onWin) })
	register(procedure.WinDeleteAttr, func(c *call) error { return deleteAttribute(c, onWin) })
	register(procedure.WinGetAttr, winGetAttribute)
}

// unit is a unit of displacement.
func (c *call) unit(i int) int32 {
	if n := c.int(i); n <= 0 {
		panic(failf(abi.ErrDisp, "the unit of displacement is %d: need 1 or more", n))
	}
	return int32(c.int(i))
}

// made writes the handle of a window to argument i, after all ranks have told their units.
func (c *call) window(i int, m *comm, w *mpi.Win, memory []byte, unit int32) error {
	w.SetErrhandler(mpi.ErrorsReturn[*mpi.Win])
	x := &win{Win: w, units: make([]int32, m.Size()), memory: memory, comm: m.Comm}
	if err := mpi.Allgather(m.Comm, []int32{unit}, x.units); err != nil {
		return err
	}
	name := ""
	x.name.Store(&name)
	x.errh.Store(errorsAreFatal)
	x.values = heap(&winValues{int64(len(memory)), int64(unit), flavors[w.Flavor()], abi.WinUnified})
	x.h = wins.add(x)
	c.setHandle(i, x.h)
	return nil
}

func winCreate(c *call) error {
	m, n, unit := c.comm(4), c.int(1), c.unit(2)
	if n < 0 {
		return failf(abi.ErrSize, "the window has %d bytes: need 0 or more", n)
	}
	memory := view[byte](c.args[0], n)
	w, err := mpi.WinCreate(m.Comm, memory, c.infoOr(3).orNil())
	if err != nil {
		return err
	}
	return c.window(5, m, w, memory, unit)
}

func winAllocate(c *call, f func(*mpi.Comm, int, *mpi.Info) (*mpi.Win, []byte, error)) error {
	m, n, unit := c.comm(3), c.int(0), c.unit(1)
	if n < 0 {
		return failf(abi.ErrSize, "the window has %d bytes: need 0 or more", n)
	}
	w, memory, err := f(m.Comm, n, c.infoOr(2).orNil())
	if err != nil {
		return err
	}
	*at[int64](c.need(4)) = addressOf(memory)
	return c.window(5, m, w, memory, unit)
}

func winCreateDynamic(c *call) error {
	m := c.comm(1)
	w, err := mpi.WinCreateDynamic(m.Comm, c.infoOr(0).orNil())
	if err != nil {
		return err
	}
	return c.window(2, m, w, nil, 1)
}

// winAttach gives a dynamic window memory. Displacements there are addresses, for package mpi too.
func winAttach(c *call) error {
	w, n := c.win(0), c.int(2)
	if n < 0 {
		return failf(abi.ErrSize, "the memory has %d bytes: need 0 or more", n)
	}
	if n == 0 {
		return nil
	}
	if _, err := mpi.WinAttach(w.Win, view[byte](c.need(1), n)); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.attached == nil {
		w.attached = map[int64]int{}
	}
	w.attached[c.args[1]] = n
	return nil
}

func winDetach(c *call) error {
	w := c.win(0)
	w.mu.Lock()
	n := w.attached[c.args[1]]
	delete(w.attached, c.args[1])
	w.mu.Unlock()
	return mpi.WinDetach(w.Win, view[byte](c.args[1], n))
}

func winSharedQuery(c *call) error {
	w, r := c.win(0), c.int(1)
	memory, err := mpi.WinSharedQuery[byte](w.Win, r)
	if err != nil {
		return err
	}
	unit := 0
	switch {
	case r >= 0 && r < len(w.units):
		unit = int(w.units[r])
	case len(memory) > 0: // of the lowest rank that has memory
		for k, u := range w.units {
			if its, err := mpi.WinSharedQuery[byte](w.Win, k); err == nil && len(its) > 0 {
				unit = int(u)
				break
			}
		}
	}
	c.setWide(2, len(memory))
	c.set(3, unit)
	*at[int64](c.need(4)) = addressOf(memory)
	return nil
}

func winFree(c *call) error {
	p := at[handle](c.need(0))
	w := wins.get(*p)
	c.on = w
	if err := w.attrs.clear(w.h); err != nil {
		return err
	}
	if err := w.Free(); err != nil {
		return err
	}
	wins.remove(w.h)
	*p = abi.WinNull
	return nil
}

func winGetAttribute(c *call) error {
	w := c.win(0)
	var v int64
	ok := true
	switch c.int(1) {
	case abi.WinBase:
		v = addressOf(w.memory)
	case abi.WinSize:
		v = address(&w.values.size)
	case abi.WinDispUnit:
		v = address(&w.values.unit)
	case abi.WinCreateFlavor:
		v = address(&w.values.flavor)
	case abi.WinModel:
		v = address(&w.values.model)
	default:
		v, ok = w.attrs.get(keyvalOf(c.int(1), kindWin))
	}
	if c.setBool(3, ok); ok {
		*at[int64](c.need(2)) = v
	}
	return nil
}
