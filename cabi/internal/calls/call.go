package calls

import (
	"fmt"
	"math"
	"math/bits"
	"strings"
	"sync"
	"unsafe"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// maxArgs is more than any function has arguments.
const maxArgs = 16

// call is one call of a function. Owned by the thread that calls.
type call struct {
	id    procedure.ID
	large bool            // it is the twin for large counts
	args  *[maxArgs]int64 // in C
	on    owner           // the object whose error handler gets an error; nil: that of MPI_COMM_SELF

	scratch // kept for the next call
}

// scratch is memory for the requests of an array.
type scratch struct {
	qs  []*request
	rs  []*mpi.Request
	out []outcome
}

// empty makes s hold no request of package mpi, and not much memory.
func (s *scratch) empty() {
	if cap(s.rs) > chunk {
		s.qs, s.rs, s.out = nil, nil, nil
	}
	clear(s.rs)
	clear(s.out)
	s.rs, s.out = s.rs[:0], s.out[:0]
}

// handler does what a function does.
type handler func(c *call) error

// handlers are by number; nil for what is not there yet.
var handlers [procedure.Count]handler

// register says what does a function, and its twin for large counts if it has one.
func register(id procedure.ID, h handler) {
	handlers[id] = h
	if next := id + 1; next < procedure.Count && next.String() == id.String()+"_c" {
		handlers[next] = h
	}
}

// Has reports whether a function is there.
func Has(id procedure.ID) bool { return handlers[id] != nil }

// Call does one call and returns the error code for C.
func Call(id int, args unsafe.Pointer) (code int) {
	c := calls.Get().(*call)
	c.id, c.large, c.args = procedure.ID(id), isLarge[id], words(args)
	defer c.end(&code)
	c.mustBeCallable()
	h := handlers[id]
	if h == nil {
		panic(failf(abi.ErrUnsupportedOperation, "FitMPI does not have this function yet"))
	}
	c.mustHavePlaces()
	if err := h(c); err != nil {
		return c.failed(err)
	}
	return abi.Success
}

// mustHavePlaces checks that there is a place for each handle that the function makes, before it
// makes any: what one rank cannot take the others would have.
func (c *call) mustHavePlaces() {
	made := &procedure.Made[c.id]
	for places := made.Out; places != 0; places &= places - 1 {
		i := bits.TrailingZeros16(places)
		if c.args[i] != 0 {
			continue
		}
		switch made.By {
		case procedure.OnComm:
			c.comm(int(made.On))
		case procedure.OnWin:
			c.win(int(made.On))
		case procedure.OnFile:
			c.file(int(made.On))
		case procedure.OnSession:
			c.session(int(made.On))
		case procedure.OnNone:
		}
		c.need(i)
	}
}

// calls recycles calls: each would be new memory, as handlers are values.
var calls = sync.Pool{New: func() any { return new(call) }}

// isLarge are the twins for large counts.
var isLarge = func() (large [procedure.Count]bool) {
	for id := range large {
		large[id] = strings.HasSuffix(procedure.ID(id).String(), "_c")
	}
	return large
}()

// end makes what an accessor has found wrong the result, and gives c back.
func (c *call) end(code *int) {
	if r := recover(); r != nil {
		f, ok := r.(*failure)
		if !ok {
			panic(r)
		}
		*code = c.failed(f)
	}
	c.args, c.on = nil, nil
	c.scratch.empty()
	calls.Put(c)
}

// name is that of the function, for messages.
func (c *call) name() string { return c.id.String() }

// int is a number, or an address.
func (c *call) int(i int) int { return int(c.args[i]) }

// count is a number that must not be negative.
func (c *call) count(i int) int {
	n := c.int(i)
	if n < 0 {
		panic(failf(abi.ErrCount, "the count is %d: need 0 or more", n))
	}
	return n
}

// bool is a truth value.
func (c *call) bool(i int) bool { return int32(c.args[i]) != 0 }

// need is the address in argument i, which must be one.
func (c *call) need(i int) int64 {
	if c.args[i] == 0 {
		panic(failf(abi.ErrArg, "argument %d is a null pointer", i+1))
	}
	return c.args[i]
}

// ints are n numbers of an array whose entries are wide in the large twin.
func (c *call) ints(i, n int) []int {
	if n > 0 {
		c.need(i)
	}
	if c.large {
		return c.wides(i, n)
	}
	return narrow(c.args[i], n)
}

// shorts are n numbers of an array of int, in the large twin too.
func (c *call) shorts(i, n int) []int {
	if n > 0 {
		c.need(i)
	}
	return narrow(c.args[i], n)
}

// wides are n numbers of an array with 64 bits each.
func (c *call) wides(i, n int) []int {
	if n > 0 {
		c.need(i)
	}
	list := make([]int, n)
	for k, v := range view[int64](c.args[i], n) {
		list[k] = int(v)
	}
	return list
}

func narrow(addr int64, n int) []int {
	list := make([]int, max(n, 0))
	for k, v := range view[int32](addr, n) {
		list[k] = int(v)
	}
	return list
}

// set writes a number that is wide in the large twin. One that does not fit is MPI_UNDEFINED.
func (c *call) set(i, v int) {
	switch {
	case c.large:
		c.setWide(i, v)
	case v > math.MaxInt32 || v < math.MinInt32:
		c.setInt(i, abi.Undefined)
	default:
		c.setInt(i, v)
	}
}

func (c *call) setInt(i, v int)  { *at[int32](c.need(i)) = int32(v) }
func (c *call) setWide(i, v int) { *at[int64](c.need(i)) = int64(v) }

func (c *call) setBool(i int, v bool) {
	n := 0
	if v {
		n = 1
	}
	c.setInt(i, n)
}

// setInts writes an array of int.
func (c *call) setInts(i int, list []int) {
	if len(list) == 0 {
		return
	}
	to := view[int32](c.need(i), len(list))
	for k, v := range list {
		to[k] = int32(v)
	}
}

// setHandle writes a handle.
func (c *call) setHandle(i int, h handle) { *at[handle](c.need(i)) = h }

// text is a string that comes in.
func (c *call) text(i int) string { return text(c.need(i)) }

// setText writes a string and, into argument length unless it is negative, how long it is.
func (c *call) setText(i int, s string, room, length int) {
	n := setText(c.need(i), s, room)
	if length >= 0 {
		c.setInt(length, n)
	}
}

// failure is an error that was found here: a class of the ABI, or a code of the program.
type failure struct {
	code int
	text string
}

func (f *failure) Error() string { return f.text }

func failf(code int, format string, args ...any) *failure {
	return &failure{code, fmt.Sprintf(format, args...)}
}
