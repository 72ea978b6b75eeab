//go:build linux && !fitmpi_portable

package mpi_test

import (
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// ruleExceptions are the exported names that break one of the API rules of the package's
// documentation, and why they may.
var ruleExceptions = map[string]string{
	// functions that take a handle, and are not generic
	"Barrier":     "a collective: it stands beside Bcast",
	"Ibarrier":    "a collective: it stands beside Ibcast",
	"BarrierInit": "a collective: it stands beside BcastInit",
	"Probe":       "takes part in receiving: it stands beside Recv",
	"Iprobe":      "takes part in receiving: it stands beside Irecv",
	"Mprobe":      "takes part in receiving: it stands beside Mrecv",
	"Improbe":     "takes part in receiving: it stands beside Imrecv",
	"FileDelete":  "of a file that is not open: it stands beside FileOpen",
	// makers
	"Init":                      "MPI's name: it makes the world, and joins the job",
	"InitThread":                "MPI's name: it makes the world, and joins the job",
	"IntercommCreateFromGroups": "MPI's name: it makes a Comm",
	"HWResourceInfo":            "a getter, whose answer is an Info",
	// getters with Get
	"GetAccumulate":      "no getter, but MPI's operation on windows",
	"GetCount":           "MPI's only name; the field Count is in the elements of the receive",
	"GetStatusAll":       "beside Request.GetStatus",
	"GetStatusAny":       "beside Request.GetStatus",
	"GetStatusSome":      "beside Request.GetStatus",
	"Request.GetStatus":  "MPI's only name: Status would say that the request has one already",
	"Status.GetCount":    "MPI's only name; Count is a field",
	"Status.GetElements": "MPI's only name, beside GetCount",
}

// handleTypes are the types whose operations are methods.
var handleTypes = []string{"Comm", "Win", "File", "Session", "Group", "Request", "Message", "Datatype", "Info", "Status"}

// madeTypes are the types whose makers begin with the type's name.
var madeTypes = []string{"Comm", "Win", "File", "Session", "Info", "Keyval", "TypeKeyval", "WinKeyval"}

var (
	getterName = regexp.MustCompile(`^Get[A-Z]`)
	twinName   = regexp.MustCompile(`With(Info|Options|Config|Hints)$`)
	bufferName = regexp.MustCompile(`^(Attach|Detach|Flush|Iflush)(Job)?Buffer$`)
	bufferLike = regexp.MustCompile(`(?i)(attach|detach|flush).*buffer|buffer.*(attach|detach|flush)`)
)

// brokenRule says which of the API rules an exported function or method breaks, "" if none. recv is
// the receiver's type, "" of a function.
func brokenRule(name, recv string, sig *types.Signature) string {
	first := ""
	if sig.Results().Len() > 0 {
		first = pointee(sig.Results().At(0).Type())
	}
	switch makes := recv == "" && slices.Contains(madeTypes, first); {
	case recv == "" && strings.HasPrefix(name, "New"):
		return "a maker's name begins with the type: see KeyvalCreate"
	case makes && !strings.HasPrefix(name, first):
		return "a function that returns a new " + first + " has MPI's name, which begins so"
	case recv == "" && !makes && first != "Datatype" && sig.TypeParams().Len() == 0 && takesHandle(sig):
		return "a function that is not generic and moves no data is a method of its first argument"
	case getterName.MatchString(name):
		return "a getter has no Get"
	case twinName.MatchString(name):
		return "options are an argument that may be nil, or a struct, and no twin"
	case recv != "" && strings.HasPrefix(name, "With") && first != recv:
		return "With returns the same object that behaves otherwise"
	case bufferLike.MatchString(name) && !bufferName.MatchString(name):
		return "buffers are attached by AttachBuffer and AttachJobBuffer, and so on"
	}
	for p := range sig.Params().Variables() {
		if n, ok := p.Type().(*types.Named); ok && n.Obj().Name() == "Registerer" && name != "RegisterMetrics" {
			return "what registers metrics is RegisterMetrics"
		}
	}
	if bad := misplacedInfo(sig); bad != "" {
		return bad
	}
	return poorResult(sig.Results())
}

// pointee is the name of T of a *T, "" of other types.
func pointee(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		if n, ok := p.Elem().(*types.Named); ok {
			return n.Obj().Name()
		}
	}
	return ""
}

func takesHandle(sig *types.Signature) bool {
	if sig.Params().Len() == 0 {
		return false
	}
	t := sig.Params().At(0).Type()
	if n, ok := t.(*types.Named); ok {
		return slices.Contains(handleTypes, n.Obj().Name())
	}
	return slices.Contains(handleTypes, pointee(t))
}

// misplacedInfo finds hints that are not the last argument, nor the last before a handler.
func misplacedInfo(sig *types.Signature) string {
	n := sig.Params().Len()
	for i := range n {
		if pointee(sig.Params().At(i).Type()) != "Info" || i == n-1 {
			continue
		}
		if next := types.TypeString(sig.Params().At(i+1).Type(), nil); i != n-2 || !strings.HasSuffix(next, "Errhandler") {
			return "hints are the last argument, or stand before a handler"
		}
	}
	return ""
}

// poorResult finds names of results that tell nothing.
func poorResult(rs *types.Tuple) string {
	for r := range rs.Variables() {
		_, isFunc := r.Type().Underlying().(*types.Signature)
		switch isError := types.TypeString(r.Type(), nil) == "error"; {
		case r.Name() == "":
		case slices.Contains([]string{"_", "outcome", "made", "started", "ret", "res", "result"}, r.Name()):
			return fmt.Sprintf("the name of the result %s tells nothing", r.Name())
		case isError != (r.Name() == "err"):
			return "an error is err, and nothing else is"
		case rs.Len() == 1 && !isError && !isFunc:
			return fmt.Sprintf("one result needs no name, as %s", r.Name())
		}
	}
	return ""
}

// eachCall calls f for every exported function and method; recv is "" of a function.
func eachCall(t *testing.T, f func(name, recv string, sig *types.Signature)) {
	t.Helper()
	n := 0
	check := func(name, recv string, o *types.Func) {
		if o.Exported() {
			n++
			f(name, recv, o.Signature())
		}
	}
	scope := compiledMPI(t).Scope()
	for _, name := range scope.Names() {
		switch o := scope.Lookup(name).(type) {
		case *types.Func:
			check(name, "", o)
		case *types.TypeName:
			if named, ok := o.Type().(*types.Named); ok && o.Exported() {
				for m := range named.Methods() {
					check(m.Name(), name, m)
				}
			}
		}
	}
	if n < 300 {
		t.Fatalf("only %d functions and methods are found", n)
	}
}

// unposted are the calls of a communicator whose names begin as those of nonblocking ones but that
// post nothing, or that return a request of nothing that is posted.
var unposted = regexp.MustCompile(`^(Iprobe|Improbe|Is[A-Z].*|Info.*|IORank|GrequestStart)$`)

// TestForms: what a call does with what it posts is told from its name, which is right for all
// calls of a communicator that there are. Those of files and windows post otherwise.
func TestForms(t *testing.T) {
	n := 0
	eachCall(t, func(name, recv string, sig *types.Signature) {
		if ofComm := recv == "Comm" || recv == "" && sig.Params().Len() > 0 && pointee(sig.Params().At(0).Type()) == "Comm"; !ofComm || unposted.MatchString(name) {
			return
		}
		returns := false
		for v := range sig.Results().Variables() {
			returns = returns || slices.Contains([]string{"Request", "Incoming", "IncomingValue", "Creation"}, pointee(v.Type()))
		}
		if n++; returns == mpi.Blocks(name) {
			t.Errorf("%s returns a request: %t, and is taken for a call that blocks: %t", name, returns, !returns)
		}
	})
	if n < 100 {
		t.Errorf("only %d calls of a communicator are found", n)
	}
	for _, op := range []string{"IntercommCreate", "Init", "InitThread"} {
		if !mpi.Blocks(op) {
			t.Errorf("%s is not taken for a call that blocks", op)
		}
	}
	for op, want := range map[string]bool{"BcastInit": true, "Init": false, "Ibcast": false} {
		if mpi.Persists(op) != want {
			t.Errorf("%s makes a persistent request: %t, want %t", op, !want, want)
		}
	}
}

// API rules hold for every exported function and method, and the exceptions are needed.
func TestAPIRules(t *testing.T) {
	broken := map[string]string{}
	eachCall(t, func(name, recv string, sig *types.Signature) {
		broken[strings.TrimPrefix(recv+"."+name, ".")] = brokenRule(name, recv, sig)
	})
	for _, name := range slices.Sorted(maps.Keys(broken)) {
		_, excepted := ruleExceptions[name]
		switch why := broken[name]; {
		case why != "" && !excepted:
			t.Errorf("%s: %s (\"API rules\" in the package's documentation); rename it, or list it with a reason", name, why)
		case why == "" && excepted:
			t.Errorf("%s is listed as an exception, and breaks no rule", name)
		}
	}
}

// Each rule finds what breaks it.
func TestAPIRulesFind(t *testing.T) {
	pkg := compiledMPI(t)
	typ := func(name string) types.Type { return pkg.Scope().Lookup(name).Type() }
	ptr := func(name string) *types.Var { return types.NewParam(token.NoPos, pkg, "", types.NewPointer(typ(name))) }
	fail := func(name string) *types.Var {
		return types.NewParam(token.NoPos, pkg, name, types.Universe.Lookup("error").Type())
	}
	number := func(name string) *types.Var { return types.NewParam(token.NoPos, pkg, name, types.Typ[types.Int]) }
	vars := func(vs ...*types.Var) []*types.Var { return vs }
	for _, x := range []struct {
		name, recv      string
		params, results []*types.Var
		want            string // part of what is said
	}{
		{"Colour", "", vars(ptr("Comm")), vars(number("")), "is a method"},
		{"Colour", "Comm", nil, vars(number("")), ""},
		{"WinMake", "", vars(ptr("Comm")), vars(ptr("Win")), ""},
		{"MakeWin", "", vars(ptr("Comm")), vars(ptr("Win")), "begins so"},
		{"NewWin", "", nil, nil, "begins with the type"},
		{"Ragged", "", vars(ptr("Datatype")), vars(ptr("Datatype")), ""},
		{"GetColour", "Comm", nil, vars(number("")), "no Get"},
		{"Get", "Info", nil, nil, ""},
		{"SplitWithInfo", "Comm", vars(ptr("Info")), nil, "no twin"},
		{"WithColour", "Comm", nil, vars(fail("")), "the same object"},
		{"WithColour", "Comm", nil, vars(ptr("Comm")), ""},
		{"BufferAttach", "Comm", nil, nil, "AttachJobBuffer"},
		{"Paint", "Comm", vars(ptr("Info"), number("")), nil, "last argument"},
		{"Paint", "Comm", nil, vars(number("n"), fail("outcome")), "tells nothing"},
		{"Paint", "Comm", nil, vars(number("n"), fail("bad")), "an error is err"},
		{"Paint", "Comm", nil, vars(number("n")), "needs no name"},
		{"Paint", "Comm", nil, vars(number("n"), fail("err")), ""},
	} {
		sig := types.NewSignatureType(nil, nil, nil, types.NewTuple(x.params...), types.NewTuple(x.results...), false)
		got := brokenRule(x.name, x.recv, sig)
		if (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s.%s %s: %q, want %q", x.recv, x.name, sig, got, x.want)
		}
	}
}

// compiledMPI is package mpi as the compiler exports it.
func compiledMPI(t *testing.T) *types.Package {
	t.Helper()
	pkg, err := loadMPI()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %v\n%s", err, e.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	return pkg
}

var loadMPI = sync.OnceValues(func() (*types.Package, error) {
	const path = "github.com/fitmpi/fitmpi/mpi"
	out, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", path).Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		p, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		exports[p] = file
	}
	open := func(p string) (io.ReadCloser, error) { return os.Open(exports[p]) }
	return importer.ForCompiler(token.NewFileSet(), "gc", open).Import(path)
})
