package tests

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fitmpi/fitmpi"

// The rules of docs/ARCHITECTURE.md: which package may import which. Patterns are import paths,
// ours without the module's; one that ends in /... means the path and all below it. What is not
// allowed is forbidden, but for the standard library, of which everything is allowed that is not
// banned.
//
// What Go's own rule of internal folders forbids is not listed here, nor tried in TestForbidden: no
// package outside engine imports engine/internal/core, because the compiler refuses it.

// rule is what one package, or all below one directory, may import.
type rule struct {
	pkgs   string
	ours   []string // packages of ours
	others []string // packages of other modules
	banned []string // packages of the standard library
	why    string   // completes "is forbidden because ..."
}

// blocking is what a pure state machine has no use for.
var blocking = []string{"context", "log/...", "net/...", "os/...", "sync", "syscall", "time"}

var rules = []rule{
	{pkgs: "buffer", why: "buffer is a leaf: memory, and nothing of MPI"},
	{pkgs: "netpoll", others: []string{"golang.org/x/sys/unix"},
		why: "netpoll is a leaf: the kernel's networking, and nothing of MPI"},
	{pkgs: "internal/sys", others: []string{"golang.org/x/sys/unix"},
		why: "internal/sys is a leaf: the kernel's other services, and nothing of MPI"},
	{pkgs: "internal/shm", others: []string{"golang.org/x/sys/unix"},
		why: "internal/shm is a leaf: memory that processes share, and nothing of MPI"},
	{pkgs: "engine/internal/wire", banned: blocking,
		why: "engine/internal/wire is pure codecs and state machines: bytes go in, bytes come out, and what has sockets and clocks calls it"},
	{pkgs: "engine/internal/progress", banned: []string{"context", "log/...", "net/...", "os/...", "sync", "syscall"},
		why: "engine/internal/progress decides which goroutine makes progress: what sleeps, wakes and takes a mutex calls it"},
	{pkgs: "mpi/internal/ckpt", banned: []string{"context", "log/...", "net/...", "sync", "syscall", "time"},
		why: "mpi/internal/ckpt is a leaf: files and checksums, and nothing of the ranks that agree on them"},
	{pkgs: "mpi/internal/layout",
		why: "mpi/internal/layout is a leaf: where values lie in memory, and nothing of messages"},
	{pkgs: "mpi/internal/fileio", ours: []string{"mpi/internal/layout"}, banned: []string{"context", "log/...", "net/...", "os/...", "sync", "syscall", "time"},
		why: "mpi/internal/fileio is where bytes lie in a file and which rank moves them: it is given files, and knows not how ranks talk"},
	{pkgs: "internal/plain", banned: blocking,
		why: "internal/plain is a leaf: text goes in, text that can be shown comes out"},
	{pkgs: "internal/foreign",
		why: "internal/foreign is a leaf: values of C, and nothing of what combines them"},
	{pkgs: "internal/params",
		why: "internal/params is a table: fitrun, which is no rank, and ranks read it alike"},
	{pkgs: "mpi/internal/agree", banned: blocking,
		why: "mpi/internal/agree is a pure state machine: messages and failures go in, messages and decisions come out, and a model check runs it"},
	{pkgs: "mpi/internal/rma", banned: blocking,
		why: "mpi/internal/rma is the pure part of windows: what has messages, memory and locks of Go calls it"},
	{pkgs: "mpi/internal/coll", banned: blocking,
		why: "mpi/internal/coll builds schedules and sees the engine only as a Graph: it is tested without one"},
	{pkgs: "mpi/internal/vec", others: []string{"golang.org/x/sys/cpu"}, banned: blocking,
		why: "mpi/internal/vec is a leaf: numbers in memory, and which instructions the processor has for them"},
	{pkgs: "mpi/internal/topo", banned: blocking,
		why: "mpi/internal/topo is arithmetic: all ranks get the same from it without a word to each other"},
	{pkgs: "internal/callsite",
		why: "internal/callsite is a leaf: return addresses, and which of them are the library's"},
	{pkgs: "internal/strangers",
		why: "internal/strangers is a leaf: it counts connections, and knows not what they are to prove"},
	{pkgs: "internal/strangers/strangerstest",
		why: "internal/strangers/strangerstest is a stranger: it knows nothing of the listeners that it bothers"},
	{pkgs: "internal/httpguard", ours: []string{"internal/secure", "internal/strangers"},
		why: "internal/httpguard says which clients may ask a server: it knows not what is served"},
	{pkgs: "internal/names", ours: []string{"internal/netif", "internal/port", "internal/sys"}, banned: []string{"net/http/...", "os/exec"},
		why: "internal/names keeps the names of ports: what the ports are of is for those that publish them"},
	{pkgs: "internal/port", ours: []string{"internal/netif", "internal/secure", "internal/strangers"}, banned: []string{"net/http/...", "os/..."},
		why: "internal/port is where two jobs find each other: what their ranks then tell each other it only carries"},
	{pkgs: "internal/secure",
		why: "internal/secure is a leaf: two ends of a connection and what they both know"},
	{pkgs: "internal/netif", banned: []string{"net/http/...", "os/..."},
		why: "internal/netif chooses addresses of a host: a list of interfaces goes in, an order comes out"},
	{pkgs: "engine/internal/jobtls", banned: []string{"log/...", "net/http/...", "os/...", "syscall"},
		why: "engine/internal/jobtls is TLS without sockets: what has those moves its bytes"},
	{pkgs: "internal/relay", banned: []string{"context", "log/...", "net/http/...", "os/...", "sync", "syscall"},
		why: "internal/relay is what is said to a gateway: what has sockets and clocks calls it"},
	{pkgs: "internal/boot/internal/pmi",
		why: "internal/boot/internal/pmi is a leaf: the words of another launcher, over a connection that its caller has found"},
	{pkgs: "internal/boot/internal/pmi/pmitest",
		why: "internal/boot/internal/pmi/pmitest is a launcher for tests: to speak the client's own words would show nothing"},
	{pkgs: "internal/trace", ours: []string{"internal/sys"}, banned: []string{"net/...", "os/exec", "os/signal"},
		why: "internal/trace is a leaf: a rank notes events, a launcher makes a file of them, and which rank has sent what to which they tell it"},
	{pkgs: "internal/trace/tracetest",
		why: "internal/trace/tracetest reads traces as their viewers do: to know how they are written would show nothing"},
	{pkgs: "internal/boot", ours: []string{"internal/netif", "internal/boot/internal/pmi", "internal/relay", "internal/secure", "internal/shm", "internal/strangers", "internal/sys"},
		why: "internal/boot is a rank's view of its launcher: it serves both sides, so it knows neither MPI nor the engine"},
	{pkgs: "cmd/fitrun/internal/hosts", ours: []string{"internal/plain"}, banned: []string{"context", "net", "os/...", "sync", "time"},
		why: "cmd/fitrun/internal/hosts reads what it is given and divides ranks: it asks neither this machine nor the network"},
	{pkgs: "cmd/fitrun/internal/crew", ours: []string{"internal/boot", "internal/plain", "internal/shm", "internal/sys", "internal/trace"},
		why: "cmd/fitrun/internal/crew runs any program on this host: ranks speak to it through internal/boot, and what leads it is not its concern"},
	{pkgs: "cmd/fitrun/internal/agent", ours: []string{"internal/boot", "cmd/fitrun/internal/crew", "internal/secure", "internal/strangers", "internal/sys", "internal/trace"},
		why: "cmd/fitrun/internal/agent leads a crew for a fitrun elsewhere: which hosts, ranks and programs a job has is for cmd/fitrun/internal/launch to say"},
	{pkgs: "cmd/fitrun/internal/gateway", ours: []string{"internal/relay", "internal/secure", "internal/strangers"},
		why: "cmd/fitrun/internal/gateway passes bytes on: it knows neither which ranks there are nor what they say"},
	{pkgs: "internal/telemetry", ours: []string{"engine", "internal/plain"}, banned: []string{"net/...", "os/...", "sync"},
		why: "internal/telemetry is what is said between a rank and its launcher: types, and the engine's counters in them"},
	{pkgs: "cmd/fitrun/internal/view", ours: []string{"internal/boot", "cmd/fitrun/internal/launch", "internal/telemetry"},
		why: "cmd/fitrun/internal/view is the picture of a job that all viewers share: it knows none of them"},
	{pkgs: "internal/hang", ours: []string{"internal/plain", "internal/telemetry"}, banned: []string{"context", "log/...", "net/...", "os/...", "sync", "syscall"},
		why: "internal/hang explains reports: what asks for them, and when, is not its concern"},
	{pkgs: "internal/hang/quiesce", ours: []string{"internal/hang", "internal/telemetry"},
		why: "internal/hang/quiesce asks the ranks of a job through its Viewer, so that a launcher and ranks of one process can: it knows neither"},
	{pkgs: "cmd/fitrun/internal/control", why: "cmd/fitrun/internal/control is how one fitrun asks another: what about is for those to say"},
	{pkgs: "cmd/fitrun/internal/web", ours: []string{"internal/httpguard", "cmd/fitrun/internal/view", "internal/telemetry", "cmd/fitrun/internal/launch", "engine"},
		why: "cmd/fitrun/internal/web shows the picture that cmd/fitrun/internal/view has: it asks no rank itself"},
	{pkgs: "internal/testutil/webtest",
		why: "internal/testutil/webtest drives a browser for tests: what the page shows is read as its users have it"},
	{pkgs: "cmd/fitrun/internal/summary", ours: []string{"engine", "cmd/fitrun/internal/launch", "internal/telemetry", "cmd/fitrun/internal/view"}, banned: []string{"context", "net/...", "os/...", "sync"},
		why: "cmd/fitrun/internal/summary evaluates a picture of a job that is over: it asks no rank and waits for nothing"},
	{pkgs: "cmd/fitrun/internal/launch", ours: []string{"cmd/fitrun/internal/agent", "internal/boot", "cmd/fitrun/internal/crew", "cmd/fitrun/internal/hosts", "internal/params", "internal/plain", "internal/relay", "internal/sys", "internal/trace"},
		why: "cmd/fitrun/internal/launch starts any program: ranks speak to it through internal/boot, and it knows neither MPI nor the engine"},
	{pkgs: "engine/internal/core", ours: []string{"buffer", "engine/internal/wire"}, banned: blocking,
		why: "the core is a state machine without goroutine, lock, clock or system call: its driver has those, golden scenarios have none"},
	{pkgs: "engine", ours: []string{"engine/internal/core", "engine/internal/progress", "buffer", "netpoll", "engine/internal/wire", "internal/netif", "internal/callsite", "engine/internal/jobtls", "internal/shm", "internal/strangers", "internal/sys"},
		banned: []string{"expvar", "flag", "net/http/...", "os/exec", "os/signal", "os/user"}, // of os files only: TestEngineOfOS
		why:    "the engine takes a Config and gives Stats: flags, the environment and monitoring are for those above it"},
	{pkgs: "metrics", ours: []string{"engine", "internal/httpguard", "internal/telemetry"}, others: []string{"github.com/prometheus/client_golang/...", "github.com/prometheus/client_model/go"},
		why: "metrics reads the engine's counters and serves any program that has an engine, with or without mpi"},
	{pkgs: "mpi", ours: []string{"engine", "mpi/internal/agree", "internal/callsite", "mpi/internal/ckpt", "mpi/internal/coll", "mpi/internal/fileio", "internal/foreign", "internal/hang", "internal/hang/quiesce", "internal/names", "mpi/internal/layout", "mpi/internal/topo", "mpi/internal/vec", "internal/boot", "internal/netif", "internal/params", "internal/port", "internal/relay", "mpi/internal/rma", "internal/shm", "internal/sys", "internal/telemetry", "internal/trace"},
		banned: []string{"flag", "net/http/..."},
		why:    "mpi is the public API: it neither sees sockets and frames nor takes a program's flags, and shows metrics only if the program imports metrics"},
	{pkgs: "mpi/mpitest", ours: []string{"mpi"},
		why: "mpi/mpitest is for users' tests: it does with mpi what they could do themselves"},
	{pkgs: "cmd/fitrun", ours: []string{"cmd/fitrun/internal/agent", "cmd/fitrun/internal/crew", "cmd/fitrun/internal/launch", "internal/boot", "cmd/fitrun/internal/gateway", "cmd/fitrun/internal/hosts", "internal/httpguard", "internal/names", "internal/netif", "internal/params", "internal/plain", "internal/port", "internal/secure", "internal/sys", "cmd/fitrun/internal/view", "internal/telemetry", "cmd/fitrun/internal/control", "internal/hang", "internal/hang/quiesce", "cmd/fitrun/internal/jobmetrics", "metrics", "cmd/fitrun/internal/web", "cmd/fitrun/internal/summary", "internal/trace"},
		why: "fitrun starts ranks, it is none"},
	{pkgs: "cmd/fitrun/internal/jobmetrics", ours: []string{"engine", "internal/boot", "cmd/fitrun/internal/launch", "internal/telemetry", "cmd/fitrun/internal/view", "metrics"}, others: []string{"github.com/prometheus/client_golang/..."},
		why: "cmd/fitrun/internal/jobmetrics shows the picture of a job to Prometheus: it asks ranks through cmd/fitrun/internal/view only"},
	{pkgs: "internal/bench",
		why: "internal/bench is figures and their files: it measures nothing, so that what reads them needs no MPI"},
	{pkgs: "internal/bench/plot", others: []string{"gonum.org/v1/plot/..."},
		why: "internal/bench/plot draws figures and knows nothing of what they are of"},
	{pkgs: "cmd/fitbench", ours: []string{"mpi", "engine", "internal/bench", "internal/bench/plot", "internal/shm", "internal/sys"},
		why: "fitbench measures the library as its users have it, and the engine only where it says what mpi adds"},
	{pkgs: "bench/compare", ours: []string{"internal/bench", "internal/bench/plot", "internal/sys"},
		why: "compare starts programs and reads what they print: to link one of them would measure it differently from its peers"},
	{pkgs: "bench/rawgo", ours: []string{"internal/bench", "netpoll"},
		why: "rawgo is what Go costs without the library: of that it has netpoll, which it measures"},
	{pkgs: "internal/testutil/faultproxy",
		why: "internal/testutil/faultproxy is a proxy for tests that breaks connections: what runs over them is for the tests to say, and nothing else imports it"},
	{pkgs: "internal/testutil/effort",
		why: "internal/testutil/effort is how much of the tests a run shows: it knows none of them, and only tests import it"},
	{pkgs: "internal/testutil/executable",
		why: "internal/testutil/executable writes programs for tests, and says what signals they hear: what they do is for the tests to say, and nothing else imports it"},
	{pkgs: "internal/testutil/netlab", ours: []string{"internal/sys"}, others: []string{"golang.org/x/net/dns/dnsmessage"},
		why: "internal/testutil/netlab is hosts for tests: what runs on them is for the tests to say, and nothing else imports it"},
	{pkgs: "tests/internal/coverage",
		why: "tests/internal/coverage reads the source of mpi and of its tests: what it says must not depend on what it links"},
	{pkgs: "examples/...", ours: []string{"mpi", "metrics", "examples/internal/cores", "examples/internal/timing", "examples/internal/timing/timingtest"},
		why: "an example shows what a user can do, and a user has mpi, metrics and the standard library"},
	{pkgs: "tests", why: "tests has no code but tests"},
	{pkgs: "tests/chaos", why: "tests/chaos has no code but tests"},
}

// What tests may import of other modules, anywhere.
var testOthers = []string{
	"go.uber.org/goleak", "pgregory.net/rapid", "github.com/rogpeppe/go-internal/testscript",
	"github.com/prometheus/client_golang/prometheus", // what metrics.Register is for
}

const (
	whyUnix   = "only netpoll, internal/shm and internal/sys talk to the kernel: what of it others need gets a function there"
	whyUnsafe = "unsafe is kept to tiny files named *_unsafe.go or *_unsafe_test.go, where a reviewer looks for it"
	whyCgo    = "FitMPI is written in Go alone: it builds without a C compiler for every platform of Go's"
	whyOthers = "every module we depend on is one that every user depends on: say in docs/decisions why it is worth that, then allow it here"
)

// file is a source file with its imports.
type file struct {
	pkg     string // import path without the module's
	name    string // base name
	imports []string
}

func (f file) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

func (f file) mayUnsafe() bool {
	return strings.HasSuffix(f.name, "_unsafe.go") || strings.HasSuffix(f.name, "_unsafe_test.go")
}

// forbidden returns a sentence for each import of f that breaks its rule.
func forbidden(f file) []string {
	i := slices.IndexFunc(rules, func(r rule) bool { return match(r.pkgs, f.pkg) })
	if i < 0 {
		return []string{fmt.Sprintf("package %s has no row in the rules: say there what it may import, and in docs/ARCHITECTURE.md what it is", f.pkg)}
	}
	var broken []string
	for _, imp := range f.imports {
		if why := forbids(rules[i], f, imp); why != "" {
			broken = append(broken, fmt.Sprintf("%s/%s imports %s, which is forbidden because %s", f.pkg, f.name, imp, why))
		}
	}
	return broken
}

// forbids returns why the import is forbidden, "" if it is not.
func forbids(r rule, f file, imp string) string {
	ours, isOurs := strings.CutPrefix(imp, module+"/")
	switch {
	case imp == "C":
		return whyCgo
	case imp == "unsafe":
		return unless(f.mayUnsafe(), whyUnsafe)
	case isOurs:
		return unless(anyMatch(r.ours, ours) || f.isTest() && mayTest(f.pkg, ours), r.why)
	case isStandard(imp):
		return unless(f.isTest() || !anyMatch(r.banned, imp), r.why)
	case anyMatch(r.others, imp) || f.isTest() && anyMatch(testOthers, imp):
		return ""
	case strings.HasPrefix(imp, "golang.org/x/sys/"):
		return whyUnix
	case slices.ContainsFunc(rules, func(r rule) bool { return anyMatch(r.others, imp) }):
		return r.why
	default:
		return whyOthers
	}
}

func unless(allowed bool, why string) string {
	if allowed {
		return ""
	}
	return why
}

// mayTest says whether tests in pkg may import ours although the code beside them may not: their
// own package, from outside, doubles made for tests, and everything in tests.
func mayTest(pkg, ours string) bool {
	return pkg == ours || pkg == "metrics" && ours == "mpi" || pkg == "tests" || pkg == "tests/chaos" || ours == "internal/boot/internal/pmi/pmitest" || ours == "internal/testutil/effort" || ours == "internal/testutil/executable" || ours == "internal/testutil/netlab" || ours == "internal/testutil/faultproxy" ||
		ours == "internal/strangers/strangerstest" || ours == "internal/trace/tracetest" || ours == "internal/testutil/webtest"
}

// isStandard goes by the dot that the first element of any other module's path has.
func isStandard(imp string) bool {
	first, _, _ := strings.Cut(imp, "/")
	return !strings.Contains(first, ".")
}

func anyMatch(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, path) })
}

func match(pattern, path string) bool {
	if dir, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == dir || strings.HasPrefix(path, dir+"/")
	}
	return path == pattern
}

func TestArrows(t *testing.T) {
	files := sources(t)
	if len(files) < 50 {
		t.Fatalf("found only %d files: is the test looking in the right place?", len(files))
	}
	for _, f := range files {
		for _, sentence := range forbidden(f) {
			t.Error(sentence)
		}
	}
}

// sources returns every Go file of the module, also those that other platforms and build tags would
// choose.
func sources(t *testing.T) []file {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e",
		"-json=Dir,ImportPath,GoFiles,CgoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles", "./...")
	cmd.Dir = ".." // the module's root
	out, err := cmd.Output()
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("go list: %v\n%s", err, e.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var files []file
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir, ImportPath                                              string
			GoFiles, CgoFiles, IgnoredGoFiles, TestGoFiles, XTestGoFiles []string
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return files
		} else if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			files = append(files, file{pkg, name, imports(t, filepath.Join(p.Dir, name))})
		}
	}
}

// TestLinksNoMetrics: a program that sends one int links neither the Prometheus client nor an HTTP
// server, through whatever package of ours or of others (decision 0065).
func TestLinksNoMetrics(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", module+"/mpi").CombinedOutput()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"/engine") {
		t.Fatalf("%d packages without the engine", len(deps))
	}
	for _, dep := range deps {
		if !isStandard(dep) && !strings.HasPrefix(dep, module+"/") && dep != "golang.org/x/sys/unix" && dep != "golang.org/x/sys/cpu" || match("net/http/...", dep) {
			t.Errorf("every program that imports mpi links %s: what few programs need, they ask for by an import of their own", dep)
		}
	}
}

// imports returns the import paths of a file.
func imports(t *testing.T, path string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, p)
	}
	return paths
}

// TestEngineOfOS: of package os the engine knows files, which it is given, and their errors. The
// environment, arguments and standard streams are for those above it.
func TestEngineOfOS(t *testing.T) {
	paths, err := filepath.Glob("../engine/*.go")
	if err != nil || len(paths) < 10 {
		t.Fatalf("found %d files: %v", len(paths), err)
	}
	allowed := []string{"File", "ErrClosed"}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "os" && !slices.Contains(allowed, s.Sel.Name) {
					t.Errorf("%s: os.%s is forbidden because the engine takes a Config", fset.Position(s.Pos()), s.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestForbidden shows made-up files to the rules: they let the lawful pass and give the right
// reason for the others.
func TestForbidden(t *testing.T) {
	const (
		unix       = "golang.org/x/sys/unix"
		prometheus = "github.com/prometheus/client_golang/prometheus"
		gonum      = "gonum.org/v1/plot/plotter"
		ours       = module + "/"
	)
	for _, test := range []struct {
		pkg, name, imp string
		why            string // part of the sentence; "" if the import is lawful
	}{
		{"engine", "engine.go", ours + "engine/internal/core", ""},
		{"engine", "engine.go", "sync", ""},
		{"engine", "engine.go", prometheus, "monitoring"},
		{"engine", "engine.go", "flag", "flags"},
		{"engine", "engine.go", "os", ""}, // see TestEngineOfOS
		{"engine", "engine.go", "os/exec", "environment"},
		{"engine", "engine.go", unix, "internal/shm and internal/sys"},
		{"engine", "engine.go", ours + "mpi", "takes a Config"},
		{"engine", "engine_test.go", ours + "mpi", "takes a Config"},
		{"engine", "engine_test.go", "os", ""},
		{"engine", "engine_test.go", "go.uber.org/goleak", ""},
		{"engine/internal/core", "send.go", "sync/atomic", ""},
		{"engine/internal/core", "send.go", "sync", "without goroutine, lock"},
		{"engine/internal/core", "send.go", "time", "clock"},
		{"engine/internal/core", "send.go", "os", "system call"},
		{"engine/internal/core", "send.go", "net/netip", "system call"},
		{"engine/internal/core", "send.go", "syscall", "system call"},
		{"engine/internal/core", "send.go", unix, "internal/shm and internal/sys"},
		{"engine/internal/core", "send.go", ours + "engine", "state machine"},
		{"engine/internal/core", "send.go", ours + "netpoll", "state machine"},
		{"engine/internal/core", "send_test.go", "time", ""},
		{"buffer", "pool.go", ours + "internal/sys", "leaf"},
		{"netpoll", "poller.go", unix, ""},
		{"internal/shm", "segment.go", unix, ""},
		{"internal/shm", "segment.go", ours + "internal/sys", "leaf"},
		{"engine", "lane.go", ours + "internal/shm", ""},
		{"engine/internal/core", "send.go", ours + "internal/shm", "state machine"},
		{"internal/boot", "boot.go", ours + "internal/shm", ""},
		{"cmd/fitrun/internal/crew", "shared.go", ours + "internal/shm", ""},
		{"mpi", "local.go", ours + "internal/shm", ""},
		{"netpoll", "poller.go", ours + "engine", "leaf"},
		{"internal/sys", "yield.go", unix, ""},
		{"engine/internal/wire", "header.go", "net", "pure codecs"},
		{"engine/internal/progress", "state.go", "sync", "takes a mutex"},
		{"engine/internal/progress", "right.go", "sync/atomic", ""},
		{"engine/internal/wire", "header.go", ours + "buffer", "pure codecs"},
		{"mpi/internal/coll", "ring.go", ours + "engine", "Graph"},
		{"internal/boot", "boot.go", "net", ""},
		{"internal/boot", "boot.go", ours + "engine", "neither MPI nor the engine"},
		{"cmd/fitrun/internal/launch", "run.go", ours + "internal/boot", ""},
		{"cmd/fitrun/internal/launch", "run.go", ours + "engine", "starts any program"},
		{"cmd/fitrun/internal/launch", "run.go", ours + "mpi", "starts any program"},
		{"cmd/fitrun/internal/launch", "lab_test.go", ours + "internal/testutil/netlab", ""},
		{"cmd/fitrun/internal/launch", "run.go", ours + "internal/testutil/netlab", "starts any program"},
		{"cmd/fitrun", "main.go", ours + "internal/testutil/netlab", "it is none"},
		{"cmd/fitrun/internal/web", "hub.go", ours + "internal/boot", "asks no rank itself"},
		{"cmd/fitrun/internal/web", "server.go", ours + "internal/testutil/webtest", "asks no rank itself"},
		{"tests", "web_test.go", ours + "internal/testutil/webtest", ""},
		{"metrics", "server.go", prometheus + "/promhttp", ""},
		{"metrics", "server.go", ours + "engine", ""},
		{"mpi", "comm.go", ours + "engine", ""},
		{"mpi", "comm.go", ours + "netpoll", "sockets and frames"},
		{"mpi", "comm.go", prometheus, "only if the program imports metrics"},
		{"mpi", "tool_metrics.go", ours + "metrics", "only if the program imports metrics"},
		{"mpi", "tool_metrics_test.go", ours + "metrics", "only if the program imports metrics"},
		{"mpi", "tool_metrics.go", "net/http", "only if the program imports metrics"},
		{"metrics", "exporter.go", ours + "mpi", "with or without mpi"},
		{"metrics", "example_test.go", ours + "mpi", ""},
		{"mpi", "comm_test.go", ours + "mpi", ""},
		{"mpi", "comm.go", ours + "mpi", "sockets and frames"},
		{"cmd/fitrun", "main.go", ours + "cmd/fitrun/internal/launch", ""},
		{"cmd/fitrun", "main.go", ours + "mpi", "it is none"},
		{"internal/bench", "row.go", gonum, "no MPI"},
		{"internal/bench/plot", "panel.go", gonum, ""},
		{"internal/bench/plot", "panel.go", ours + "internal/bench", "knows nothing"},
		{"cmd/fitbench", "figure.go", ours + "internal/bench/plot", ""},
		{"cmd/fitbench", "figure.go", gonum, "as its users have it"},
		{"cmd/fitbench", "env.go", ours + "internal/boot", "as its users have it"},
		{"bench/compare", "main.go", ours + "internal/bench", ""},
		{"bench/compare", "main.go", ours + "mpi", "starts programs"},
		{"bench/rawgo", "wires_poll.go", ours + "netpoll", ""},
		{"bench/rawgo", "main.go", ours + "engine", "without the library"},
		{"mpi", "comm.go", gonum, "sockets and frames"},
		{"tests/internal/coverage", "load.go", "go/types", ""},
		{"tests/internal/coverage", "load.go", ours + "mpi", "reads the source"},
		{"examples/heat2d", "main.go", ours + "mpi", ""},
		{"examples/heat2d", "main.go", "image/png", ""},
		{"examples/heat2d", "main.go", ours + "engine", "what a user can do"},
		{"tests", "doc.go", ours + "mpi", "no code but tests"},
		{"mpi", "elem_unsafe.go", "unsafe", ""},
		{"mpi", "elem_unsafe_test.go", "unsafe", ""},
		{"mpi", "elem.go", "unsafe", "tiny files"},
		{"mpi", "elem_test.go", "unsafe", "tiny files"},
		{"netpoll", "unsafe.go", "unsafe", "tiny files"},
		{"internal/sys", "yield.go", "C", "Go alone"},
		{"mpi", "comm.go", "example.com/handy", "docs/decisions"},
		{"mpi", "comm.go", "go.uber.org/goleak", "docs/decisions"},
		{"mpi", "comm_test.go", "example.com/handy", "docs/decisions"},
		{"internal/new", "new.go", "fmt", "no row"},
		{"enginex", "x.go", "fmt", "no row"},
	} {
		got := strings.Join(forbidden(file{test.pkg, test.name, []string{test.imp}}), "\n")
		if (got == "") != (test.why == "") || !strings.Contains(got, test.why) {
			t.Errorf("%s/%s imports %s: %q, want a reason with %q", test.pkg, test.name, test.imp, got, test.why)
		}
	}
}
