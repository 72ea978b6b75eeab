package calls

import (
	"slices"
	"sync"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
)

// attributes are the values that a program caches on an object (MPI 5.0, section 7.7). Those of
// package mpi have functions of Go, whose errors are errors of Go; here a function of C returns the
// code that the call returns.
type attributes struct {
	mu   sync.Mutex
	list []attribute // guarded by mu, in the order in which they were set
}

type attribute struct {
	key   *keyval
	value int64
}

// keyval is a key. Immutable, but for refs.
type keyval struct {
	n            int
	of           kind  // of objects
	copy, delete int64 // functions of the program, or constants of the ABI
	extra        int64

	refs  int  // guarded by keyvals.mu: the program's, and one for each value
	freed bool // guarded by keyvals.mu: the program has let go of it, and may do so again
}

var keyvals = struct {
	mu    sync.Mutex
	byNum map[int]*keyval // guarded by mu
	last  int             // guarded by mu
}{byNum: map[int]*keyval{}, last: 1000}

// The functions that every kind of object has: to copy nothing, and to copy the value.
const (
	nullFn = abi.CommNullCopyFn
	dupFn  = abi.CommDupFn
)

// createKeyval makes a key for objects of a kind.
func createKeyval(c *call, of kind) error {
	keyvals.mu.Lock()
	defer keyvals.mu.Unlock()
	keyvals.last++
	k := &keyval{n: keyvals.last, of: of, copy: c.args[0], delete: c.args[1], extra: c.args[3], refs: 1}
	keyvals.byNum[k.n] = k
	c.setInt(2, k.n)
	return nil
}

func freeKeyval(c *call, of kind) error {
	p := at[int32](c.need(0))
	keyvalOf(int(*p), of).free()
	*p = abi.KeyvalInvalid
	return nil
}

// keyvalOf is the key of a number, for objects of a kind.
func keyvalOf(n int, of kind) *keyval {
	keyvals.mu.Lock()
	defer keyvals.mu.Unlock()
	if k := keyvals.byNum[n]; k != nil && k.of == of {
		return k
	}
	panic(failf(abi.ErrKeyval, "%d is no attribute key of the program for such objects, or one that was freed", n))
}

func (k *keyval) use() {
	keyvals.mu.Lock()
	defer keyvals.mu.Unlock()
	k.refs++
}

// free lets go of the program's hold, once.
func (k *keyval) free() {
	keyvals.mu.Lock()
	first := !k.freed
	k.freed = true
	keyvals.mu.Unlock()
	if first {
		k.release()
	}
}

func (k *keyval) release() {
	keyvals.mu.Lock()
	defer keyvals.mu.Unlock()
	if k.refs--; k.refs == 0 {
		delete(keyvals.byNum, k.n)
	}
}

// get is the value under a key.
func (a *attributes) get(k *keyval) (int64, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.indexLocked(k); i >= 0 {
		return a.list[i].value, true
	}
	return 0, false
}

func (a *attributes) indexLocked(k *keyval) int {
	return slices.IndexFunc(a.list, func(x attribute) bool { return x.key == k })
}

// set caches a value on the object h, after the one that was there was deleted.
func (a *attributes) set(h handle, k *keyval, v int64) error {
	if old, ok := a.get(k); ok {
		if err := k.callDelete(h, old); err != nil {
			return err
		}
	} else {
		k.use()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := a.indexLocked(k); i >= 0 {
		a.list[i].value = v
	} else {
		a.list = append(a.list, attribute{k, v})
	}
	return nil
}

// remove deletes the value under a key, unless its function fails.
func (a *attributes) remove(h handle, k *keyval) error {
	v, ok := a.get(k)
	if !ok {
		return failf(abi.ErrKeyval, "the object has no attribute under key %d", k.n)
	}
	if err := k.callDelete(h, v); err != nil {
		return err
	}
	a.mu.Lock()
	if i := a.indexLocked(k); i >= 0 {
		a.list = slices.Delete(a.list, i, i+1)
	}
	a.mu.Unlock()
	k.release()
	return nil
}

// clear deletes all, the latest first (MPI 5.0, section 11.2.4, says so of MPI_COMM_SELF).
func (a *attributes) clear(h handle) error {
	for {
		a.mu.Lock()
		n := len(a.list)
		if n == 0 {
			a.mu.Unlock()
			return nil
		}
		k := a.list[n-1].key
		a.mu.Unlock()
		if err := a.remove(h, k); err != nil {
			return err
		}
	}
}

// copyTo gives a duplicate of the object h those values that their functions let it have. No lock
// is held while they run.
func (a *attributes) copyTo(h handle, to *attributes) error {
	a.mu.Lock()
	list := slices.Clone(a.list)
	a.mu.Unlock()
	for _, x := range list {
		v, keep, err := x.key.callCopy(h, x.value)
		if err != nil {
			return err
		}
		if keep {
			x.key.use()
			to.list = append(to.list, attribute{x.key, v})
		}
	}
	return nil
}

// codeError is a code that a function of the program has returned.
func codeError(code int32, what string) error {
	if code == abi.Success {
		return nil
	}
	return failf(int(code), "the %s function of the program returned %d", what, code)
}

// What functions of attributes are, by the kind of object.
var (
	copyFunctions   = map[kind]Function{kindComm: FunctionCommCopy, kindDatatype: FunctionTypeCopy, kindWin: FunctionWinCopy}
	deleteFunctions = map[kind]Function{kindComm: FunctionCommDelete, kindDatatype: FunctionTypeDelete, kindWin: FunctionWinDelete}
)

func (k *keyval) callDelete(h handle, v int64) error {
	if k.delete == nullFn {
		return nil
	}
	return codeError(Callback(deleteFunctions[k.of], k.delete, int64(h), int64(k.n), v, k.extra), "delete")
}

func (k *keyval) callCopy(h handle, v int64) (value int64, keep bool, err error) {
	switch k.copy {
	case nullFn:
		return 0, false, nil
	case dupFn:
		return v, true, nil
	}
	out := heap(new(struct {
		value int64
		flag  int32
	}))
	code := Callback(copyFunctions[k.of], k.copy, int64(h), int64(k.n), k.extra, v, address(&out.value), address(&out.flag))
	return out.value, out.flag != 0, codeError(code, "copy")
}

func init() {
	for of, ids := range map[kind][][2]procedure.ID{
		kindComm: {
			{procedure.CommCreateKeyval, procedure.CommFreeKeyval}, {procedure.KeyvalCreate, procedure.KeyvalFree},
		},
		kindDatatype: {{procedure.TypeCreateKeyval, procedure.TypeFreeKeyval}},
		kindWin:      {{procedure.WinCreateKeyval, procedure.WinFreeKeyval}},
	} {
		for _, pair := range ids {
			register(pair[0], func(c *call) error { return createKeyval(c, of) })
			register(pair[1], func(c *call) error { return freeKeyval(c, of) })
		}
	}
	onComm := func(c *call) (*attributes, handle, kind) { m := c.comm(0); return &m.attrs, m.h, kindComm }
	onType := func(c *call) (*attributes, handle, kind) { d := c.datatype(0); return &d.attrs, d.h, kindDatatype }
	for _, id := range []procedure.ID{procedure.CommSetAttr, procedure.AttrPut} {
		register(id, func(c *call) error { return setAttribute(c, onComm) })
	}
	for _, id := range []procedure.ID{procedure.CommDeleteAttr, procedure.AttrDelete} {
		register(id, func(c *call) error { return deleteAttribute(c, onComm) })
	}
	for _, id := range []procedure.ID{procedure.CommGetAttr, procedure.AttrGet} {
		register(id, func(c *call) error { return getAttribute(c, onComm) })
	}
	register(procedure.TypeSetAttr, func(c *call) error { return setAttribute(c, onType) })
	register(procedure.TypeDeleteAttr, func(c *call) error { return deleteAttribute(c, onType) })
	register(procedure.TypeGetAttr, func(c *call) error { return getAttribute(c, onType) })
}

// refusePredefined says that the library's own attributes are read only.
func refusePredefined(n int) {
	if n >= abi.TagUb && n <= abi.WinModel {
		panic(failf(abi.ErrKeyval, "attribute %d is predefined: it can only be read", n))
	}
}

func setAttribute(c *call, on func(*call) (*attributes, handle, kind)) error {
	a, h, of := on(c)
	refusePredefined(c.int(1))
	return a.set(h, keyvalOf(c.int(1), of), c.args[2])
}

func deleteAttribute(c *call, on func(*call) (*attributes, handle, kind)) error {
	a, h, of := on(c)
	refusePredefined(c.int(1))
	return a.remove(h, keyvalOf(c.int(1), of))
}

func getAttribute(c *call, on func(*call) (*attributes, handle, kind)) error {
	a, _, of := on(c)
	v, ok := predefinedAttribute(c.int(1))
	if !ok && !isPredefined(c.int(1)) {
		v, ok = a.get(keyvalOf(c.int(1), of))
	}
	c.setBool(3, ok)
	if ok {
		*at[int64](c.need(2)) = v
	}
	return nil
}

func isPredefined(n int) bool { return n >= abi.TagUb && n <= abi.UniverseSize }
