// Package callsite remembers where a call came from at the price of a few loads, and says later
// which operation of the library that was, and at which line of whose code.
//
// [Callers] and [Note] note return addresses. They follow the frame pointers, which Go keeps on
// amd64 and arm64, and look nothing up. That takes some nanoseconds, where runtime.Callers takes
// hundreds. On other architectures they note nothing, because an answer that costs each message so
// much is not worth having. [Of] does the rest when a caller asks, and takes microseconds.
package callsite

import (
	"fmt"
	"path"
	"runtime"
	"strings"
)

// Site is where the user's code called the library.
type Site struct {
	Op   string // as the library names what was called: Recv, Wait, Barrier; "" if that is not known
	At   string // file:line of the caller; "" if there is none, or it is not known
	Func string // the caller
}

// Callers fills pcs with the return addresses of the calls on this goroutine's stack, the innermost
// first, and returns how many there are. It may leave out the function that calls it. The last is
// needed to understand the one before, so give room for one more than are wanted.
func Callers(pcs []uintptr) int {
	if len(pcs) == 0 {
		return 0
	}
	return walk(&pcs[0], len(pcs))
}

// Note is Callers, but leaves out no call and keeps 32 bits of each address. The addresses of one
// program differ in these bits only, and what millions of operations remember must be small. If
// there are fewer calls than room, a 0 is behind the last.
//
//go:noinline
func Note(pcs []uint32) {
	if n := walk32(&pcs[0], len(pcs)); n < len(pcs) {
		pcs[n] = 0
	}
}

// OfNote is Of for what Note has noted.
func OfNote(pcs []uint32) Site { return Of(whole(pcs)) }

// whole are the addresses that end so, the nearest to one of this program.
func whole(low []uint32) []uintptr {
	here, _, _, _ := runtime.Caller(0)
	pcs := make([]uintptr, 0, len(low))
	for _, l := range low {
		if l == 0 {
			break
		}
		pcs = append(pcs, here+uintptr(int32(l-uint32(here))))
	}
	return pcs
}

// Of says which call the addresses in pcs stand for: the outermost of the library's calls before
// the first call of the user's code. Callers or runtime.Callers has filled pcs. The first
// address that is 0 ends them.
func Of(pcs []uintptr) Site {
	var s Site
	n := 0
	for n < len(pcs) && pcs[n] != 0 {
		n++
	}
	if n == 0 {
		return s
	}
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		switch {
		case isFromC(f.Function) && s.Op != "":
			return s
		case IsOurs(f.Function, f.File):
			s.Op = better(s.Op, Operation(f.Function))
		case IsUsers(f.Function) && s.Op != "":
			s.At, s.Func = fmt.Sprintf("%s:%d", f.File, f.Line), f.Function
			return s
		}
		if !more {
			return s
		}
	}
}

// isFromC reports whether a function is of the C library, which calls package mpi for a program in
// C: of that no line is known.
func isFromC(function string) bool { return strings.HasPrefix(function, module+"cabi/") }

// better is what the call of outer is called when it has called inner.
func better(inner, outer string) string {
	if inner == "Finalize" { // which Main, RunThreads and their like do for the user
		return inner
	}
	return outer
}

// mostHere is how many calls Here looks at: those of the library, and one of the user's.
const mostHere = 64

// Here is file:line of the user's code that has called the library on this goroutine, "" if none
// has. It takes microseconds: it is for what has failed.
func Here() string {
	var pcs [mostHere]uintptr
	return Of(pcs[:runtime.Callers(2, pcs[:])]).At
}

const module = "github.com/fitmpi/fitmpi/"

// ours are the packages of the library, as parts of module, and the module cabi.
var ours = []string{"mpi", "engine", "buffer", "netpoll", "metrics", "internal", "cabi"}

// IsOurs reports whether a function, which stands in a file, is the library's: not a program, an
// example or a test.
func IsOurs(function, file string) bool {
	rest, ok := strings.CutPrefix(function, module)
	if !ok || strings.HasSuffix(file, "_test.go") {
		return false
	}
	for _, p := range ours {
		if r, ok := strings.CutPrefix(rest, p); ok && (strings.HasPrefix(r, ".") || strings.HasPrefix(r, "/")) {
			return true
		}
	}
	return false
}

// IsUsers reports whether a function that is not the library's is not the standard library's
// either.
func IsUsers(function string) bool {
	pkg := packageOf(function)
	first, _, _ := strings.Cut(pkg, "/")
	return pkg == "main" || strings.Contains(first, ".") || pkg != "" && !isStandard(first)
}

// packageOf is the import path of the package of a function.
func packageOf(function string) string {
	dir, base := path.Split(withoutTypes(function))
	pkg, _, _ := strings.Cut(base, ".")
	return dir + pkg
}

// standard are the first elements of the import paths of the standard library. Modules may have
// such names too. But names without a dot are reserved for the standard library, and for programs
// that no other module imports.
var standard = map[string]bool{}

func init() {
	for p := range strings.FieldsSeq("archive arena bufio bytes cmp compress container context crypto database debug embed encoding errors " +
		"expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime " +
		"slices sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak") {
		standard[p] = true
	}
}

func isStandard(first string) bool { return standard[first] }

// Operation is the name of a function of the library as its users know it: Recv of mpi.Recv[...],
// Wait of (*Request).Wait, and Main of a function literal in Main.
func Operation(function string) string {
	_, name, _ := strings.Cut(path.Base(withoutTypes(function)), ".")
	if rest, ok := strings.CutPrefix(name, "("); ok {
		_, name, _ = strings.Cut(rest, ").")
	}
	name, inner, _ := strings.Cut(name, ".")
	if method, _, _ := strings.Cut(inner, "."); method != "" && !isLiteral(method) {
		name = method // of a type that is no pointer
	}
	if name == "finalize" {
		return "Finalize"
	}
	return name
}

// isLiteral reports whether part of a function's name is that of a function literal, or of what the
// compiler makes for one.
func isLiteral(part string) bool {
	return strings.HasPrefix(part, "func") || strings.HasPrefix(part, "gowrap") || part[0] >= '0' && part[0] <= '9' || part[0] == '-'
}

// withoutTypes leaves out type arguments, which may have dots and slashes.
func withoutTypes(function string) string {
	var b strings.Builder
	depth := 0
	for _, r := range function {
		switch {
		case r == '[':
			depth++
		case r == ']':
			depth--
		case depth == 0:
			b.WriteRune(r)
		}
	}
	return b.String()
}
