package callsite

import (
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hasWalk says that return addresses are noted here at all.
var hasWalk = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"

func needWalk(t testing.TB) {
	if !hasWalk {
		t.Skip("nothing is noted on " + runtime.GOARCH)
	}
}

// frames are the functions and lines of pcs, by CallersFrames alone, without those of which
// Callers, or the runtime, may leave some out.
func frames(pcs []uintptr) []string {
	var out []string
	fs := runtime.CallersFrames(pcs)
	for {
		f, more := fs.Next()
		switch {
		case strings.HasSuffix(f.Function, ".both") || f.Function == "runtime.deferreturn":
		case strings.Contains(f.Function, ".gowrap") || strings.HasSuffix(f.Function, "-fm"):
		default:
			out = append(out, fmt.Sprintf("%s:%d", path.Base(f.Function), f.Line))
		}
		if !more {
			return out
		}
	}
}

// both notes the stack by Callers and by runtime.Callers, as seen from one line.
//
//go:noinline
func both() (ours, theirs []string) {
	var a, b [200]uintptr
	n, m := Callers(a[:]), runtime.Callers(1, b[:])
	return frames(a[:n]), frames(b[:m])
}

func small() (ours, theirs []string) { return both() } // is inlined

func generic[T any](T) (ours, theirs []string) { return small() } // likewise

//go:noinline
func generic2[T any](v T) (ours, theirs []string) {
	ours, theirs = generic(v)
	return ours, theirs
}

type kind[T any] struct{ v T }

func (k *kind[T]) method() (ours, theirs []string) { return generic2(k.v) }

type asker interface {
	method() (ours, theirs []string)
}

// recursive calls f at some depth, with frames of many sizes.
//
//go:noinline
func recursive(n int, f func() ([]string, []string)) (ours, theirs []string) {
	var room [64]byte
	if n == 0 {
		return f()
	}
	room[n%64] = byte(n)
	ours, theirs = recursive(n-1, f)
	if room[n%64] != byte(n) {
		panic("the stack was damaged")
	}
	return ours, theirs
}

// Callers sees the same calls as the runtime does, those that were inlined among them.
func TestCallersAreTheRuntimes(t *testing.T) {
	needWalk(t)
	closure := func() (ours, theirs []string) { return generic2("x") }
	var a asker = &kind[[3]int]{}
	for name, f := range map[string]func() ([]string, []string){
		"plain": both, "inlined": small, "generic": func() ([]string, []string) { return generic(1) },
		"generic not inlined": func() ([]string, []string) { return generic2(1.5) }, "method": a.method,
		"closure": closure, "deep": func() ([]string, []string) { return recursive(40, both) },
		"fresh goroutine": func() (ours, theirs []string) {
			var wg sync.WaitGroup
			wg.Go(func() { ours, theirs = both() })
			wg.Wait()
			return ours, theirs
		},
		"bottom of a stack": func() (ours, theirs []string) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				ours, theirs = both()
			}()
			<-done
			return ours, theirs
		},
		"deferred": func() (ours, theirs []string) {
			func() {
				defer func() { ours, theirs = both() }()
			}()
			return ours, theirs
		},
		"while panicking": func() (ours, theirs []string) {
			defer func() { _ = recover() }()
			defer func() { ours, theirs = both() }()
			panic("with a frame of the runtime in between")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := f()
			ours, theirs = slices.Compact(ours), slices.Compact(theirs) // a method of a generic type may have a wrapper of its own name
			if len(ours) == 0 || !slices.Equal(ours, theirs) {
				t.Errorf("differ:\nours:   %q\ntheirs: %q", ours, theirs)
			}
		})
	}
}

// With little room the innermost calls are noted, and nothing is written behind it.
func TestCallersFillsWhatThereIs(t *testing.T) {
	needWalk(t)
	var room [12]uintptr
	for n := range len(room) {
		clear(room[:])
		room[n] = 42
		if got := Callers(room[:n]); got > n || n <= 3 && got != n {
			t.Errorf("%d calls in room for %d", got, n)
		}
		if room[n] != 42 {
			t.Errorf("room for %d: more is written", n)
		}
	}
	var notes [12]uint32
	for n := 1; n < len(notes); n++ {
		notes[n] = 42
		if Note(notes[:n]); notes[n] != 42 {
			t.Errorf("room for %d notes: more is written", n)
		}
	}
}

// Goroutines whose stacks are moved and thrown away all the time note nothing but what is there.
func TestCallersWhileStacksMove(t *testing.T) {
	needWalk(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for n := range 300 {
				if ours, theirs := recursive(n, both); len(ours) < min(n, 190) || n < 190 && !slices.Equal(ours, theirs) {
					t.Errorf("at depth %d: %q, want %q", n, ours, theirs)
				}
				if n%50 == 0 {
					runtime.GC() // shrinks stacks
				}
			}
		})
	}
	wg.Wait()
}

// A note is as good as the addresses themselves.
func TestNote(t *testing.T) {
	needWalk(t)
	var pcs [20]uintptr
	var low [20]uint32
	n := 0
	func() { Note(low[:]); n = Callers(pcs[:]) }()
	got, want := frames(whole(low[:])), frames(pcs[:n])
	if !strings.HasPrefix(got[0], "callsite.TestNote.func1:") {
		t.Errorf("the note begins with %s", got[0])
	}
	if i := len(got) - len(want); i < 0 || !slices.Equal(got[i:], want) {
		t.Errorf("the note is %q, want it to end as %q", got, want)
	}
	var none [4]uint32
	if s := OfNote(none[:]); s != (Site{}) {
		t.Errorf("nothing was noted, but it is %v", s)
	}
}

// Whose a function is, and what it is called, is seen by its name.
func TestNames(t *testing.T) {
	const lib = "github.com/fitmpi/fitmpi/"
	for _, c := range []struct {
		function, file string
		ours, users    bool
		operation      string
	}{
		{lib + "mpi.Recv[...]", "/x/mpi/p2p_recv.go", true, false, "Recv"},
		{lib + "mpi.Recv[go.shape.int]", "/x/mpi/p2p_recv.go", true, false, "Recv"},
		{lib + "mpi.(*Request).Wait", "/x/mpi/p2p_request.go", true, false, "Wait"},
		{lib + "mpi.(*Incoming[...]).Wait", "<autogenerated>", true, false, "Wait"},
		{lib + "mpi.Main.func1.2", "/x/mpi/job_main.go", true, false, "Main"},
		{lib + "mpi.collective.start", "/x/mpi/coll.go", true, false, "start"},
		{lib + "mpi.(*job).finalize", "/x/mpi/job.go", true, false, "Finalize"},
		{lib + "engine.(*Engine).wait", "/x/engine/wait.go", true, false, "wait"},
		{lib + "engine/internal/core.(*Core).Post", "/x/engine/internal/core/send.go", true, false, "Post"},
		{lib + "mpi/internal/coll.Bcast", "/x/mpi/internal/coll/bcast.go", true, false, "Bcast"},
		{lib + "mpi.TestPending", "/x/mpi/tool_pending_test.go", false, true, ""},
		{lib + "mpi_test.TestTool.func1", "/x/mpi/tool_test.go", false, true, ""},
		{lib + "cmd/fitbench.run", "/x/cmd/fitbench/main.go", false, true, ""},
		{lib + "examples/ring.run", "/x/examples/ring/main.go", false, true, ""},
		{lib + "tests.helper", "/x/tests/helper.go", false, true, ""},
		{lib + "mpix.F", "/x/mpix/f.go", false, true, ""},
		{"main.main", "/home/u/main.go", false, true, ""},
		{"main.Map[...]", "/home/u/main.go", false, true, ""},
		{"main.(*T[example.org/q.V]).run", "/home/u/main.go", false, true, ""},
		{"example.org/sim/grid.(*Grid).step.func1", "/home/u/grid.go", false, true, ""},
		{"mysim/grid.Step", "/home/u/grid.go", false, true, ""},
		{"sync.(*WaitGroup).Go.func1", "/go/src/sync/waitgroup.go", false, false, ""},
		{"internal/poll.(*FD).Read", "/go/src/internal/poll/fd.go", false, false, ""},
		{"runtime.goexit", "/go/src/runtime/asm.s", false, false, ""},
		{"vendor/golang.org/x/net/dns.F", "/go/src/vendor/x.go", false, false, ""},
		{"net/http.(*Server).Serve", "/go/src/net/http/server.go", false, false, ""},
		{"slices.SortFunc[...]", "/go/src/slices/sort.go", false, false, ""},
		{"", "", false, false, ""},
	} {
		if got := IsOurs(c.function, c.file); got != c.ours {
			t.Errorf("IsOurs(%s) is %v", c.function, got)
		}
		if got := !c.ours && IsUsers(c.function); got != c.users {
			t.Errorf("IsUsers(%s) is %v", c.function, got)
		}
		if got := Operation(c.function); c.ours && got != c.operation {
			t.Errorf("Operation(%s) is %s", c.function, got)
		}
	}
}

// Every package of the standard library is known for one.
func TestStandardIsKnown(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip(err)
	}
	dirs, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", "*", "*.go"))
	if err != nil || len(dirs) == 0 {
		t.Skipf("the source of the standard library is not here: %v", err)
	}
	for _, d := range dirs {
		if pkg := filepath.Base(filepath.Dir(d)); !isStandard(pkg) && pkg != "cmd" && pkg != "builtin" {
			t.Errorf("%s is not known", pkg)
		}
	}
}

// Nothing is allocated.
func TestCallersAllocatesNothing(t *testing.T) {
	var pcs [16]uintptr
	var low [6]uint32
	if n := testing.AllocsPerRun(100, func() { Callers(pcs[:]); Note(low[:]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCallers(b *testing.B) {
	needWalk(b)
	var pcs [16]uintptr
	b.Run("frame pointers", func(b *testing.B) {
		for b.Loop() {
			Callers(pcs[:8])
		}
	})
	b.Run("note", func(b *testing.B) {
		var low [6]uint32
		for b.Loop() {
			Note(low[:])
		}
	})
	b.Run("runtime.Callers", func(b *testing.B) {
		for b.Loop() {
			runtime.Callers(1, pcs[:8])
		}
	})
}
