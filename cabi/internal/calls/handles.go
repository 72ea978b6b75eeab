package calls

import (
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
)

// handle is a handle as C has it. Those below 4096 are predefined; others are the place in a table,
// which begins at firstPlace, above the kind of the object.
type handle uintptr

// kind is the kind of object that a handle is of. The C half knows that of requests.
type kind uint8

const (
	kindComm kind = iota + 1
	kindGroup
	kindDatatype
	kindOp
	kindInfo
	kindErrhandler
	kindMessage
	kindSession
	kindRequest // 9, as in fitmpi.h
	kindWin
	kindFile
)

const (
	firstPlace = 16
	predefined = 4096 // what predefined handles are below
)

func handleOf(k kind, place int) handle { return handle(place+firstPlace)<<8 | handle(k) }

// table is the objects of a kind, by place.
type table[T any] struct {
	kind kind
	null handle // the null handle of the kind
	code int    // error class of a handle that is none
	what string

	list atomic.Pointer[[]atomic.Pointer[T]] // replaced, grown, by what holds mu
	own  [predefined]atomic.Pointer[T]       // by predefined handle

	mu   sync.Mutex
	used int   // guarded by mu: places that were ever taken
	free []int // guarded by mu
}

// add gives an object a handle.
func (t *table[T]) add(o *T) handle {
	t.mu.Lock()
	defer t.mu.Unlock()
	var place int
	if n := len(t.free); n > 0 {
		place, t.free = t.free[n-1], t.free[:n-1]
	} else {
		place = t.used
		t.used++
		t.growLocked()
	}
	(*t.list.Load())[place].Store(o)
	return handleOf(t.kind, place)
}

// growLocked makes room for the places that are used.
func (t *table[T]) growLocked() {
	old := t.list.Load()
	if old != nil && t.used <= len(*old) {
		return
	}
	list := make([]atomic.Pointer[T], max(64, 2*t.used))
	if old != nil {
		for i := range *old {
			list[i].Store((*old)[i].Load())
		}
	}
	t.list.Store(&list)
}

// place is where a handle is, or -1.
func (t *table[T]) place(h handle) int {
	if kind(h&15) != t.kind || h>>8 < firstPlace {
		return -1
	}
	return int(h>>8) - firstPlace
}

// find returns the object of a handle, or nil.
func (t *table[T]) find(h handle) *T {
	if i, list := t.place(h), t.list.Load(); i >= 0 && list != nil && i < len(*list) {
		return (*list)[i].Load()
	}
	if h < predefined {
		return t.own[h].Load()
	}
	return nil
}

// get is find of a handle that must be one.
func (t *table[T]) get(h handle) *T {
	if o := t.find(h); o != nil {
		return o
	}
	if h == t.null {
		panic(failf(t.code, "the %s is null", t.what))
	}
	panic(failf(t.code, "%#x is no %s, or one that was freed", uintptr(h), t.what))
}

// remove takes a handle back. Predefined ones stay.
func (t *table[T]) remove(h handle) {
	i := t.place(h)
	if i < 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	(*t.list.Load())[i].Store(nil)
	t.free = append(t.free, i)
}

// predefine gives an object a handle below 4096.
func (t *table[T]) predefine(h handle, o *T) { t.own[h].Store(o) }

// The tables.
var (
	comms       = table[comm]{kind: kindComm, null: abi.CommNull, code: abi.ErrComm, what: "communicator"}
	groups      = table[group]{kind: kindGroup, null: abi.GroupNull, code: abi.ErrGroup, what: "group"}
	datatypes   = table[datatype]{kind: kindDatatype, null: abi.DatatypeNull, code: abi.ErrType, what: "datatype"}
	ops         = table[op]{kind: kindOp, null: abi.OpNull, code: abi.ErrOp, what: "operation"}
	infos       = table[info]{kind: kindInfo, null: abi.InfoNull, code: abi.ErrInfo, what: "info object"}
	errhandlers = table[errhandler]{kind: kindErrhandler, null: abi.ErrhandlerNull, code: abi.ErrErrhandler, what: "error handler"}
	messages    = table[message]{kind: kindMessage, null: abi.MessageNull, code: abi.ErrRequest, what: "message"}
)

// comm is the communicator of an argument. Errors of the call go to its error handler.
func (c *call) comm(i int) *comm {
	m := comms.get(handle(c.args[i]))
	c.on = m
	return m
}

func (c *call) group(i int) *group { return groups.get(handle(c.args[i])) }

func (c *call) datatype(i int) *datatype { return datatypes.get(handle(c.args[i])) }

func (c *call) op(i int) *op { return ops.get(handle(c.args[i])) }

func (c *call) info(i int) *info { return infos.get(handle(c.args[i])) }
