package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const root = "../../.."

// ours is package mpi with its tests, read once for all tests that look at it and do not change it.
var ours = sync.OnceValues(func() (*code, error) { return load(root, module+"/mpi", module+"/tests") })

// The document says what the code says.
func TestDocumentIsFresh(t *testing.T) {
	chapters, err := parse(procedures)
	if err != nil {
		t.Fatal(err)
	}
	code, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	want := page(classify(chapters, code), code)
	got, err := os.ReadFile(filepath.Join(root, target))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: %s\nrenew it from the root of the repository by\n\t%s", target, firstDifference(got, want), command)
	}
}

func firstDifference(got, want []byte) string {
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range w {
		if i >= len(g) || g[i] != w[i] {
			return "the code says " + strings.TrimSpace(w[i])
		}
	}
	return "it has lines that the code does not say"
}

// The list is that of the standard: 415 procedures in the 21 chapters of its core.
func TestProcedures(t *testing.T) {
	chapters, err := parse(procedures)
	if err != nil {
		t.Fatal(err)
	}
	counts := []int{25, 12, 28, 6, 38, 17, 17, 17, 4, 12, 22, 15, 21, 15, 15, 25, 11, 9, 12, 38, 56, 52, 8}
	sum := 0
	for i, n := range counts {
		c := chapters[i]
		if c.number != i+1 || len(c.procedures) != n {
			t.Errorf("chapter %d has %d procedures, want %d of chapter %d", c.number, len(c.procedures), n, i+1)
		}
		if c.number <= core {
			sum += len(c.procedures)
		}
	}
	if sum != 415 {
		t.Errorf("the core has %d procedures, want 415", sum)
	}
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Send", "before the first chapter"},
		{"chapter 1 | 1 | p2p", "need N | COUNT | TITLE | SECTIONS"},
		{"chapter x | 1 | p2p | 3", "invalid syntax"},
		{"chapter 1 | x | p2p | 3", "count of chapter 1"},
		{"chapter 1 | 2 | p2p | 3\nplan none\nSend", "says 2 procedures and lists 1"},
		{"chapter 1 | 1 | p2p | 3\nSend", "has no plan"},
		{"chapter 1 | 2 | p2p | 3\nplan none\nSend\nSend", "procedures.txt:4: Send is listed twice"},
	} {
		if _, err := parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("parse(%q): error %v, want one with %q", tt.text, err, tt.want)
		}
	}
}

func TestGoNames(t *testing.T) {
	exported := map[string]export{}
	for _, n := range []string{"IreduceScatterBlock", "Hvector", "Comm.Dup", "Comm.SplitType", "Comm.Name", "Comm.CartCreate", "Info.Get", "Datatype.Extent",
		"Win.Put", "Request.Pready", "A.Parrived", "B.Parrived"} {
		exported[n] = export{kind: "func"}
	}
	exported["A.Pready"] = export{kind: "method", promoted: true}
	for _, tt := range []struct{ line, want string }{
		{"Ireduce_scatter_block", "IreduceScatterBlock"},
		{"Comm_dup", "Comm.Dup"},
		{"Comm_split_type", "Comm.SplitType"},
		{"Comm_get_name", "Comm.Name"},
		{"Cart_create", "Comm.CartCreate"},
		{"Type_create_hvector", "Hvector"},
		{"Type_get_extent", "Datatype.Extent"},
		{"Pready", "Request.Pready"},
		{"Parrived", "A.Parrived"},
		{"Get = Get, Win.Get", ""},
		{"Put = Put, Win.Put", "Win.Put"},
		{"Info_get_string = Info.Get", "Info.Get"},
		{"Comm_spawn", ""},
	} {
		if got := find(goNames(parseProcedure(tt.line)), exported); got != tt.want {
			t.Errorf("%s is %q, want %q", tt.line, got, tt.want)
		}
	}
}

func TestIsCalled(t *testing.T) {
	for _, tt := range []struct {
		test, name string
		want       bool
	}{
		{"request/get status", "Request.GetStatus", true},
		{"request/waitany of none", "WaitAny", true},
		{"TestReduceLocal", "ReduceLocal", true},
		{"TestReduceLocal", "Reduce", true},
		{"sendrecv/ring", "Send", false},
		{"mode/unbuffered", "Bufferedx", false},
	} {
		if got := isCalled(tt.test, tt.name); got != tt.want {
			t.Errorf("isCalled(%q, %q) is %v", tt.test, tt.name, got)
		}
	}
}

func TestIsWithin(t *testing.T) {
	for _, tt := range []struct {
		section, list string
		want          bool
	}{
		{"6.4", "6.3 to 6.11", true},
		{"6.12.5", "6.3 to 6.11", false},
		{"6.11.2", "6.3 to 6.11", true},
		{"6.2", "6.3 to 6.11", false},
		{"6.4-6.8", "6.3 to 6.11", true},
		{"6", "6.3 to 6.11", true},
		{"7.4.2", "9.1, 7.4.2", true},
		{"12.3", "12", true},
		{"FitMPI", "12", false},
		{"", "12", false},
		{"3.2", "", false},
	} {
		if got := isWithin(tt.section, tt.list); got != tt.want {
			t.Errorf("isWithin(%q, %q) is %v", tt.section, tt.list, got)
		}
	}
}

// imitation is the stand-in for package mpi and its tests, read once as ours is.
var imitation = sync.OnceValues(func() (*code, error) {
	const dir = module + "/tests/internal/coverage/testdata/fake/"
	return load(root, dir+"mpi", dir+"tests")
})

func fake(t *testing.T) *code {
	t.Helper()
	c, err := imitation()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every kind of name, and every way in which a test reaches one.
func TestBestProof(t *testing.T) {
	c := fake(t)
	for _, tt := range []struct{ name, sections, want, why string }{
		{"Send", "3.2", "errors/all", "the only one"},
		{"Bcast", "6.4", "collective/all", "a case of the chapter, through an interface and a generic type"},
		{"Bcast", "9.4", "another/chapter", "errors/all is about wrong calls"},
		{"ReduceScatterBlock", "9.4", "reduce scatter block/sums", "called like it, though indirect and of another chapter"},
		{"Bcast", "3.2", "another/chapter", "a case of the chapter"},
		{"ReduceScatter", "6.10", "reduce scatter block/sums", "in a method of a generic type"},
		{"Comm.Dup", "7.4", "ExampleComm_Dup", "a method of an embedded type, in an example"},
		{"Comm.Free", "7.4", "errors/all", "told from the Free of requests by its type"},
		{"Request.Free", "3.7", "TestFreeOfRequests", "promoted"},
		{"Pair.First", "", "reduce scatter block/sums", "a field of a generic type, in a variable that the case uses"},
		{"Recv", "3.2", "", "a benchmark proves nothing"},
		{"Bare", "", "TestProcess", "in a process that the test starts by its name"},
		{"Comm.Name", "7.8", "", "an example that is not run proves nothing"},
		{"Alone", "", "", "nobody calls it"},
	} {
		got := ""
		if p := best(c.proofs, tt.name, tt.sections); p != nil {
			got = p.name
		}
		if got != tt.want {
			t.Errorf("%s for section %s is shown by %q, want %q: %s", tt.name, tt.sections, got, tt.want, tt.why)
		}
	}
	if i := slices.IndexFunc(c.proofs, func(p proof) bool { return p.name == "TestSuite" }); i < 0 || len(c.proofs[i].uses) > 0 {
		t.Error("TestSuite runs every case, so it proves none of them")
	}
}

func TestExports(t *testing.T) {
	c := fake(t)
	for name, want := range map[string]export{
		"Send":            {kind: "func", doc: "Send sends (MPI 4.1, section 3.2.1).\n", synopsis: "Send sends (MPI 4.1, section 3.2.1)."},
		"Comm.Name":       {kind: "method", doc: "Name is c's name (MPI 4.1, section 7.8).\n", synopsis: "Name is c's name (MPI 4.1, section 7.8)."},
		"Incoming.Data":   {kind: "method", doc: "Data is the data. It is no procedure's.\n", synopsis: "Data is the data."},
		"Pair.First":      {kind: "field"},
		"Incoming.Free":   {kind: "method", promoted: true},
		"Comm.Dup":        {kind: "method", doc: "Dup copies c (MPI 4.1, section 7.4.2).\n", synopsis: "Dup copies c (MPI 4.1, section 7.4.2)."},
		"Bare":            {kind: "func"},
		"ExportedByTest":  {},
		"Comm.inner":      {},
		"Comm.unexported": {},
	} {
		if got := c.exported[name]; got != want {
			t.Errorf("%s is %+v, want %+v", name, got, want)
		}
	}
}

const fakeList = `
chapter 1 | 6 | Some | 6.3, 6.4
plan later
Send
Recv
Bcast
Comm_dup
Comm_spawn
Op_free - nothing to free
chapter 2 | 0 | Names | Handles.
plan later
STATUS_IGNORE - _
`

func TestPage(t *testing.T) {
	chapters, err := parse(fakeList)
	if err != nil {
		t.Fatal(err)
	}
	c := fake(t)
	text := string(page(classify(chapters, c), c))
	for _, want := range []string{
		"| 1 | [Some](#1-some) | 6 | 3 | 1 | 1 | 1 |\n",
		"\n## 1. Some\n\nMPI 4.1, section 6.3, 6.4. Not yet there: 1. The plan: later.\n\n| MPI |",
		"| `Send` | `Send` | `errors/all` |\n",
		"| `Recv` | `Recv` | **no test calls it** |\n",
		"| `Bcast` | `Bcast` | `collective/all`, `ExampleBcast` |\n",
		"| `Comm_spawn` | not yet |  |\n",
		"| `Op_free` | not needed: nothing to free |  |\n",
		"| `STATUS_IGNORE` | `_` |  |\n",
		"| `Incoming.Data` | Data is the data. | **no test calls it** |\n",
		"| `Alone` | Alone is called by nobody. | **no test calls it** |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "| `ExportedByTest` |") || strings.Contains(text, "| `Incoming.Free` |") {
		t.Errorf("the page has names that are none of the package's own:\n%s", text)
	}
}

func TestUncommented(t *testing.T) {
	chapters, err := parse(fakeList)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(uncommented(chapters, fake(t)), "\n")
	for _, want := range []string{"Bare has no comment"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "Send") || strings.Contains(got, "Alone") {
		t.Errorf("%q finds fault with what is right", got)
	}
}

// TestComments: readers of go doc find at every exported name what it is, and at every procedure of
// the standard its section.
func TestComments(t *testing.T) {
	chapters, err := parse(procedures)
	if err != nil {
		t.Fatal(err)
	}
	c, err := ours()
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range uncommented(chapters, c) {
		t.Error(fault)
	}
}
