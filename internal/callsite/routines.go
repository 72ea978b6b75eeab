package callsite

import (
	"bytes"
	"runtime"
	"strings"
)

// Routine is a goroutine that runs code of the user's, or one that waits for a signal.
type Routine struct {
	State   string // as the runtime names it, without the time: running, chan receive, IO wait
	At      string // file:line of the user's innermost frame, or of where the user started it
	Func    string
	Blocked bool // it waits in a call of the library's for operations of that
	Signal  bool // it is the standard library's, and ends the context of a signal.NotifyContext when a signal comes
	Test    bool // it waits for a test to end, or for its turn among tests: for another goroutine
}

// routine is a goroutine as its stack tells.
type routine struct {
	Routine
	number  string
	creator string // number of the goroutine that has started it, empty if none has
	isUsers bool   // it runs code of the user's, and nothing of ours beyond that, or the user has started it
	ours    bool   // a frame of ours is further in than those seen since
	isIdle  bool   // it reads an HTTP client's connection: the goroutine that wants the data waits beside it
	isKnown bool   // nothing that follows in its stack counts
}

// systemCalls begins the names of functions that call only the kernel.
const systemCalls = "golang.org/x/sys/"

// maxTrace bounds the text of all stacks, in bytes: writing it stops every goroutine.
const maxTrace = 16 << 20

// Routines returns the goroutines of this process that run code of the user's, that the user has
// started, or that wait for a signal. whole is false if they are too many to look at all of them.
// It stops all goroutines for as long as it takes to write down their stacks.
func Routines() (rs []Routine, whole bool) {
	for n := 64 << 10; ; n *= 4 {
		b := make([]byte, min(n, maxTrace))
		if k := runtime.Stack(b, true); k < len(b) {
			return parseTrace(b[:k]), true
		} else if n >= maxTrace {
			return parseTrace(b), false
		}
	}
}

// parseTrace reads what runtime.Stack writes.
func parseTrace(b []byte) (rs []Routine) {
	all := make(map[string]*routine)
	var order []*routine
	for part := range bytes.SplitSeq(b, []byte("\n\n")) {
		if r, ok := parseRoutine(string(part)); ok {
			all[r.number] = r
			order = append(order, r)
		}
	}
	for _, r := range order {
		if r.isUsers || r.Signal || r.isServing(all) {
			rs = append(rs, r.Routine)
		}
	}
	return rs
}

// parseRoutine reads the stack of one goroutine: a line that says how it is, then two lines for
// each frame, the innermost first, and for the statement that started it.
func parseRoutine(text string) (r *routine, ok bool) {
	head, rest, _ := strings.Cut(text, "\n")
	number, head, ok := strings.Cut(head, " [")
	if !ok {
		return nil, false
	}
	head, _, _ = strings.Cut(head, "]")
	r = &routine{number: strings.TrimPrefix(number, "goroutine ")}
	r.State, _, _ = strings.Cut(head, ",")
	for rest != "" && !r.isKnown {
		var function, place string
		if function, rest, _ = strings.Cut(rest, "\n"); strings.HasPrefix(function, "...") {
			continue // frames are left out of a deep stack
		}
		place, rest, _ = strings.Cut(rest, "\n")
		r.frame(function, withoutOffset(strings.TrimSpace(place)))
	}
	return r, true
}

// frame takes in a line of a stack, of a function that is at a place.
func (r *routine) frame(function, at string) {
	creator, isCreator := strings.CutPrefix(function, "created by ")
	if isCreator {
		function, r.creator, _ = strings.Cut(creator, " in goroutine ")
	} else {
		function = withoutArguments(function)
	}
	file, _, _ := strings.Cut(at, ":")
	switch {
	case strings.HasPrefix(function, systemCalls): // ours or the user's: its caller is further out
	case IsOurs(function, file):
		r.isKnown = isCreator || !r.ours && runs[strings.TrimPrefix(function, module)] // not the user's, or waiting for the ranks that it runs
		r.ours = true
		r.Blocked = r.Blocked || waits[strings.TrimPrefix(function, module)]
	case !isCreator && waitsForTests[function]:
		r.Test = strings.HasPrefix(r.State, "chan receive")
	case IsUsers(function):
		r.At, r.Func = at, function
		r.isUsers, r.isKnown = !isCreator || !r.ours, true
	case isCreator:
		r.At, r.Func = at, function
	case strings.HasPrefix(function, "net/http.(*persistConn)") || strings.HasPrefix(function, "net/http.(*http2ClientConn"):
		r.isIdle = true
	case strings.HasPrefix(function, "os/signal.NotifyContext."):
		r.Signal = strings.HasPrefix(r.State, "select")
		r.At, r.Func, r.isUsers = at, function, !r.Signal // else the signal has come
	}
}

// isServing reports whether r, which runs nothing of the user's, waits for the network on behalf of
// the user. The standard library has started such a goroutine for the user, as httptest.NewServer
// does, and it may call functions of the user's. all are the goroutines by number. A goroutine that
// was started by one that is gone is taken for the user's.
func (r *routine) isServing(all map[string]*routine) bool {
	if r.isIdle || r.Func == "" || !strings.HasPrefix(r.State, "IO wait") {
		return false
	}
	a := r
	for range all { // as often as there can be ancestors
		if a.isUsers || a.ours {
			break
		}
		parent, ok := all[a.creator]
		if !ok {
			return true
		}
		a = parent
	}
	return a.isUsers
}

// waitsForTests are the functions in which a test waits for others, by a channel that those close.
var waitsForTests = map[string]bool{
	"testing.(*T).Run": true, "testing.(*T).Parallel": true, "testing.(*testState).waitParallel": true, "testing.(*B).Run": true, "testing.(*B).run": true, "testing.(*B).doBench": true,
}

// runs are the functions that run ranks and wait for them.
var runs = map[string]bool{"mpi.Main": true, "mpi.Threads.Run": true}

// waits are the functions in which callers wait for operations, as the engine's notes of them say.
var waits = map[string]bool{"engine.(*Engine).wait": true, "engine.(*Engine).sendDirect": true}

// withoutArguments is the name of a function in a line such as main.f(0x1, {0x2, 0x3}).
func withoutArguments(line string) string {
	if !strings.HasSuffix(line, ")") {
		return line
	}
	depth := 0
	for i := len(line) - 1; i >= 0; i-- {
		switch line[i] {
		case ')':
			depth++
		case '(':
			if depth--; depth == 0 {
				return line[:i]
			}
		}
	}
	return line
}

// withoutOffset is file:line of a line such as /src/main.go:12 +0x1d.
func withoutOffset(place string) string {
	if i := strings.LastIndex(place, " +0x"); i >= 0 {
		return place[:i]
	}
	return place
}
