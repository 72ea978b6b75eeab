package calls

import (
	"strings"
	"sync"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
)

// The tool information interface (MPI 5.0, section 15.3) shows what a library has of variables,
// events and categories. This one shows none: its configuration is in the environment, and its
// counters are served by fitrun. All functions are there and say so.

// isTool are its functions, which call no error handler and may be called at any time.
var isTool = func() (tool [procedure.Count]bool) {
	for id := range tool {
		tool[id] = strings.HasPrefix(procedure.ID(id).String(), "MPI_T_")
	}
	return tool
}()

// tools is its state.
var tools struct {
	mu       sync.Mutex
	inits    int            // guarded by mu: calls of MPI_T_init_thread that were not finalized
	sessions map[int64]bool // guarded by mu: of performance variables
	last     int64          // guarded by mu
}

func init() {
	register(procedure.TInitThread, func(c *call) error {
		c.setInt(1, abi.ThreadMultiple)
		tools.mu.Lock()
		defer tools.mu.Unlock()
		tools.inits++
		return nil
	})
	tool(procedure.TFinalize, func(*call) error {
		tools.mu.Lock()
		defer tools.mu.Unlock()
		tools.inits--
		return nil
	})
	for _, id := range []procedure.ID{
		procedure.TCvarGetNum, procedure.TPvarGetNum, procedure.TCategoryGetNum, procedure.TEventGetNum, procedure.TSourceGetNum,
		procedure.TCategoryChanged,
	} {
		tool(id, func(c *call) error { c.setInt(0, 0); return nil })
	}
	for code, ids := range noneOf {
		for _, id := range ids {
			tool(id, func(*call) error { return failf(code, "there is none") })
		}
	}
	tool(procedure.TPvarSessionCreate, createSession)
	tool(procedure.TPvarSessionFree, freeSession)
	for _, id := range []procedure.ID{
		procedure.TPvarHandleAlloc, procedure.TPvarHandleFree, procedure.TPvarRead, procedure.TPvarReadreset, procedure.TPvarReset,
		procedure.TPvarStart, procedure.TPvarStop, procedure.TPvarWrite,
	} {
		tool(id, ofSession)
	}
}

// noneOf are functions of what there is none of, by what they say.
var noneOf = map[int][]procedure.ID{
	abi.TErrInvalidIndex: {
		procedure.TCvarGetInfo, procedure.TCvarHandleAlloc, procedure.TPvarGetInfo, procedure.TEventGetInfo,
		procedure.TEventHandleAlloc, procedure.TSourceGetInfo, procedure.TSourceGetTimestamp, procedure.TCategoryGetInfo,
		procedure.TCategoryGetCategories, procedure.TCategoryGetCvars, procedure.TCategoryGetPvars, procedure.TCategoryGetEvents,
		procedure.TCategoryGetNumEvents,
	},
	abi.TErrInvalidName: {
		procedure.TCvarGetIndex, procedure.TPvarGetIndex, procedure.TEventGetIndex, procedure.TCategoryGetIndex,
	},
	abi.TErrInvalidHandle: {
		procedure.TCvarHandleFree, procedure.TCvarRead, procedure.TCvarWrite, procedure.TEnumGetInfo, procedure.TEnumGetItem,
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

func createSession(c *call) error {
	tools.mu.Lock()
	defer tools.mu.Unlock()
	if tools.sessions == nil {
		tools.sessions = map[int64]bool{}
	}
	tools.last++
	tools.sessions[tools.last] = true
	*at[int64](c.need(0)) = tools.last
	return nil
}

func freeSession(c *call) error {
	p := at[int64](c.need(0))
	tools.mu.Lock()
	defer tools.mu.Unlock()
	if !tools.sessions[*p] {
		return failf(abi.TErrInvalidSession, "no session")
	}
	delete(tools.sessions, *p)
	*p = abi.TPvarSessionNull
	return nil
}

// ofSession is a function of a variable's handle in a session: what is asked for all variables is
// done, as there is none.
func ofSession(c *call) error {
	tools.mu.Lock()
	defer tools.mu.Unlock()
	switch all := c.args[1] == abi.TPvarAllHandles; {
	case !tools.sessions[c.args[0]]:
		return failf(abi.TErrInvalidSession, "no session")
	case c.id == procedure.TPvarHandleAlloc:
		return failf(abi.TErrInvalidIndex, "there is none")
	case all && (c.id == procedure.TPvarStart || c.id == procedure.TPvarStop || c.id == procedure.TPvarReset):
		return nil
	}
	return failf(abi.TErrInvalidHandle, "there is none")
}
