package calls

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// The tool information interface (MPI 5.0, section 15.3). Its control variables are the environment
// variables that a rank reads, its performance variables what a rank counts, and its categories the
// groups of both. There are no events.

// isTool are its functions, which call no error handler and may be called at any time.
var isTool = func() (tool [procedure.Count]bool) {
	for id := range tool {
		tool[id] = strings.HasPrefix(procedure.ID(id).String(), "MPI_T_")
	}
	return tool
}()

// firstToolHandle is above the numbers that handles of the interface have as constants.
const firstToolHandle = 16

// tools is its state.
var tools struct {
	// Set once by what initializes MPI, and kept: a rank says of itself after MPI_Finalize too.
	rank   atomic.Pointer[mpi.Comm] // a communicator of the rank; nil: none is known yet
	joined atomic.Bool              // the rank has its parameters

	mu       sync.Mutex
	inits    int                     // guarded by mu: calls of MPI_T_init_thread that were not finalized
	last     int64                   // guarded by mu: the handle that was given last
	cvars    map[int64]int           // guarded by mu: control variables by handle
	sessions map[int64]map[int64]int // guarded by mu: performance variables by session and handle
}

func init() {
	register(procedure.TInitThread, func(c *call) error {
		c.setInt(1, abi.ThreadMultiple)
		tools.mu.Lock()
		defer tools.mu.Unlock()
		if tools.inits++; tools.inits == 1 {
			tools.cvars, tools.sessions = map[int64]int{}, map[int64]map[int64]int{}
		}
		return nil
	})
	tool(procedure.TFinalize, func(*call) error {
		tools.mu.Lock()
		defer tools.mu.Unlock()
		tools.inits--
		return nil
	})
	for _, id := range []procedure.ID{procedure.TEventGetNum, procedure.TSourceGetNum, procedure.TCategoryChanged} {
		tool(id, func(c *call) error { c.setInt(0, 0); return nil })
	}
	for code, ids := range noneOf {
		for _, id := range ids {
			tool(id, func(*call) error { return failf(code, "there is none") })
		}
	}
}

// noneOf are functions of events, of which there are none, by what they say.
var noneOf = map[int][]procedure.ID{
	abi.TErrInvalidIndex: {
		procedure.TEventGetInfo, procedure.TEventHandleAlloc, procedure.TSourceGetInfo, procedure.TSourceGetTimestamp,
	},
	abi.TErrInvalidName: {procedure.TEventGetIndex},
	abi.TErrInvalidHandle: {
		procedure.TEventCallbackGetInfo, procedure.TEventCallbackSetInfo, procedure.TEventCopy, procedure.TEventGetSource,
		procedure.TEventGetTimestamp, procedure.TEventHandleFree, procedure.TEventHandleGetInfo, procedure.TEventHandleSetInfo,
		procedure.TEventRead, procedure.TEventRegisterCallback, procedure.TEventSetDroppedHandler,
	},
}

// tool registers a function that wants the interface initialized.
func tool(id procedure.ID, h handler) {
	register(id, func(c *call) error {
		tools.mu.Lock()
		n := tools.inits
		tools.mu.Unlock()
		if n == 0 {
			return failf(abi.TErrNotInitialized, "called before MPI_T_init_thread")
		}
		return h(c)
	})
}

// joins notes that the rank has its parameters, and perhaps a communicator of it.
func joins(m *mpi.Comm) {
	tools.joined.Store(true)
	if m != nil {
		tools.rank.CompareAndSwap(nil, m)
	}
}

// item is a number at argument i that must be less than n.
func (c *call) item(i, n int) int {
	k := c.int(i)
	if k < 0 || k >= n {
		panic(failf(abi.TErrInvalidIndex, "the index is %d: need 0 to %d", k, n-1))
	}
	return k
}

// say writes a string to argument i, as far as the number at the next one says that there is room,
// and to that its length with the zero byte. Without room it says what is needed (MPI 5.0, section
// 15.3.3).
func (c *call) say(i int, s string) {
	if c.args[i+1] == 0 {
		return
	}
	n := at[int32](c.args[i+1])
	if c.args[i] == 0 || *n <= 0 {
		*n = int32(len(s) + 1)
		return
	}
	*n = int32(setText(c.args[i], s, int(*n)) + 1)
}

// tell writes a number to argument i, which may be NULL.
func (c *call) tell(i, v int) {
	if c.args[i] != 0 {
		c.setInt(i, v)
	}
}

// tellHandle writes a handle to argument i, which may be NULL.
func (c *call) tellHandle(i int, h handle) {
	if c.args[i] != 0 {
		c.setHandle(i, h)
	}
}

// newToolHandleLocked is a handle that no other object of the interface has or has had.
func newToolHandleLocked() int64 {
	tools.last = max(tools.last+1, firstToolHandle)
	return tools.last
}
