package mpi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// untold are the exported functions and methods that tell tools nothing, by why.
var unobserved = map[string]string{
	"asks":    "a question about what this rank knows, that nobody else hears of",
	"value":   "makes or changes a value of this rank",
	"arith":   "computes on memory",
	"rank":    "is the life of a rank; Init, SessionInit and Finalize are told for it",
	"tool":    "is for tools",
	"handler": "runs inside the call that has failed",
}

var unobservedNames = map[string]string{
	// communicators and groups
	"Comm.Rank": "asks", "Comm.Parent": "asks", "Comm.Size": "asks", "Comm.Name": "asks", "Comm.String": "asks", "Comm.World": "asks", "Comm.Self": "asks",
	"Comm.Group": "asks", "Comm.IsRevoked": "asks", "Comm.Die": "rank", "Comm.Info": "asks", "Comm.IsInter": "asks", "Comm.RemoteSize": "asks", "Comm.RemoteGroup": "asks",
	"Comm.TopoTest": "asks", "Comm.Transport": "asks", "Comm.Errhandler": "asks", "Comm.ContextID": "tool", "Comm.WithoutTools": "tool",
	"Comm.WithContext": "value", "Comm.WithType": "value", "Comm.WithTypes": "value", "Comm.SetErrhandler": "value",
	"Comm.CartdimGet": "asks", "Comm.CartGet": "asks", "Comm.CartRank": "asks", "Comm.CartCoords": "asks", "Comm.CartShift": "asks",
	"Comm.GraphdimsGet": "asks", "Comm.GraphGet": "asks", "Comm.GraphNeighborsCount": "asks", "Comm.GraphNeighbors": "asks",
	"Comm.DistGraphNeighborsCount": "asks", "Comm.DistGraphNeighbors": "asks",
	"File.Group": "asks", "File.Amode": "asks", "File.Name": "asks", "File.String": "asks", "File.Info": "asks", "File.View": "asks", "File.Atomicity": "asks",
	"File.Errhandler": "asks", "File.SetErrhandler": "value", "File.WithType": "value", "File.Position": "asks", "File.ByteOffset": "asks", "File.TypeExtent": "asks",
	"Comm.FileErrhandler": "asks", "Comm.SetFileErrhandler": "value", "Comm.RegisterDatarep": "value", "FileMode.String": "asks",
	"Session.Errhandler": "asks", "Session.Info": "asks", "Session.SetErrhandler": "value", "Session.String": "asks", "SessionInit": "rank",
	"Win.SetErrhandler": "value", "Win.Errhandler": "asks", "Win.Size": "asks", "Win.DispUnit": "asks", "Win.Flavor": "asks", "Win.Model": "asks", "WinBase": "asks",
	"WinKeyval.*": "value", "WinKeyvalCreate": "value", "WinFlavor.String": "asks", "WinModel.String": "asks",
	"Win.Group": "asks", "Win.Name": "asks", "Win.String": "asks", "Win.Info": "asks", "Win.IsRevoked": "asks", "Win.WithType": "value", "Win.WithTypes": "value",
	"Creation.Comm": "asks", "Request.IsComplete": "asks", "Incoming.Data": "asks", "IncomingValue.Value": "asks",
	"Group.*": "value", "Info.*": "value", "Datatype.*": "value", "Status.*": "asks", "Keyval.*": "value", "TypeKeyval.*": "value", "Op.*": "value", "BFloat16.*": "arith", "Float16.*": "arith",
	"Error.*": "value", "ErrorClass.*": "value", "ErrorCode.*": "value", "TruncateError.*": "value",
	"MessageKind.String": "asks", "MessageUse.String": "asks", "Comparison.String": "asks", "Topology.String": "asks", "ThreadLevel.String": "asks", "Combiner.String": "asks", "Loc.*": "value", "Order.*": "asks", "Distribution.*": "asks",
	// the environment
	"Comm.ProcessorName": "asks", "Wtime": "asks", "Wtick": "asks", "Comm.WtimeIsGlobal": "asks", "Version": "asks", "LibraryVersion": "asks", "Comm.UniverseSize": "asks",
	"Comm.AppNum": "asks", "Comm.Restarts": "asks", "Comm.HostRank": "asks", "Comm.IORank": "asks", "QueryThread": "asks", "Comm.IsThreadMain": "asks", "Initialized": "asks", "Finalized": "asks",
	"RanksHere": "asks", "GetCount": "asks", "HWResourceInfo": "asks", "Comm.InfoEnv": "asks", "InfoCreate": "value", "InfoCreateEnv": "value",
	"Comm.Counters": "asks", "Comm.Variables": "asks", "DimsCreate": "arith", "AllocMem": "value", "FreeMem": "value", "ErrorsAreFatal": "handler", "ErrorsAbort": "handler", "ErrorsReturn": "handler",
	"AddErrorClass": "value", "AddErrorCode": "value", "AddErrorString": "value", "RemoveErrorClass": "value", "RemoveErrorCode": "value", "RemoveErrorString": "value",
	"ErrorString": "asks", "ClassOf": "asks", "LastUsedCode": "asks", "KeyvalCreate": "value", "TypeKeyvalCreate": "value", "CopyAttribute": "value",
	"Init": "rank", "InitThread": "rank", "Finalize": "rank", "Main": "rank", "RunThreads": "rank", "Threads.Run": "rank", "RunThreadsContext": "rank", "UseTool": "tool", "Region": "tool",
	// datatypes and operations
	"TypeOf": "value", "Contiguous": "value", "Vector": "value", "Hvector": "value", "Indexed": "value", "Hindexed": "value", "IndexedBlock": "value",
	"HindexedBlock": "value", "Struct": "value", "Subarray": "value", "Darray": "value", "Resized": "value",
	"Pack": "arith", "Unpack": "arith", "PackSize": "arith", "PackExternal": "arith", "UnpackExternal": "arith", "PackExternalSize": "arith",
	"ReduceLocal": "arith", "Commutative": "value", "IsCommutative": "asks", "Sum": "arith", "Prod": "arith", "Max": "arith", "Min": "arith", "MaxLoc": "arith", "MinLoc": "arith",
	"LAnd": "arith", "LOr": "arith", "LXor": "arith", "BAnd": "arith", "BOr": "arith", "BXor": "arith", "Replace": "arith", "NoOp": "arith", "Add": "arith", "OpOf": "value", "BFloat16Of": "value", "Float16Of": "value",
}

// begins reports whether the body calls one of the functions of tool_begin.go, and with which name
// as the operation.
func begins(body *ast.BlockStmt) (op string, ok bool) {
	constant := ""
	ast.Inspect(body, func(n ast.Node) bool {
		if v, is := n.(*ast.ValueSpec); is && len(v.Names) == 1 && v.Names[0].Name == "op" && len(v.Values) == 1 {
			if l, is := v.Values[0].(*ast.BasicLit); is {
				constant, _ = strconv.Unquote(l.Value)
			}
		}
		call, is := n.(*ast.CallExpr)
		if !is || ok || !strings.HasPrefix(calleeOf(call), "begin") {
			return true
		}
		for _, a := range call.Args {
			switch a := a.(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(a.Value); err == nil && !ok {
					op, ok = s, true
				}
			case *ast.Ident:
				if a.Name == "op" && !ok {
					op, ok = constant, true
				}
			}
		}
		return true
	})
	return op, ok
}

// calleeOf is the last part of the name of what is called.
func calleeOf(call *ast.CallExpr) string {
	f := call.Fun
	if x, ok := f.(*ast.IndexExpr); ok {
		f = x.X
	}
	switch f := f.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// functions are those of the package, by name: F, or T.M.
func functions(t *testing.T) map[string]*ast.FuncDecl {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*ast.FuncDecl{}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || name == "tool_begin.go" || name == "tool_call.go" {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				all[receiverOf(d)+d.Name.Name] = d
			}
		}
	}
	return all
}

// receiverOf is "T." for a method of T or *T.
func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	x := d.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if p, ok := x.(*ast.IndexExpr); ok {
		x = p.X
	}
	return x.(*ast.Ident).Name + "."
}

func isExported(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if !ast.IsExported(part) {
			return false
		}
	}
	return true
}

// delegates is what the only statement of a function calls, "" if it does more than to return that.
func delegates(d *ast.FuncDecl) string {
	if n := len(d.Body.List); n == 0 || n > 2 {
		return ""
	}
	if r, ok := d.Body.List[len(d.Body.List)-1].(*ast.ReturnStmt); ok && len(r.Results) == 1 {
		if c, ok := r.Results[0].(*ast.CallExpr); ok {
			return calleeOf(c)
		}
	}
	return ""
}

// Every exported function and method tells tools that it is called, under its own name, or stands
// in the list of those that do not. What is behind them tells nothing: the library's own calls are
// not the user's.
func TestEveryCallIsObserved(t *testing.T) {
	all := functions(t)
	told := 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		op, ok := begins(d.Body)
		whose, _, _ := strings.Cut(name, ".")
		why, excepted := unobservedNames[name]
		if _, all := unobservedNames[whose+".*"]; all {
			excepted, why = true, unobservedNames[whose+".*"]
		}
		switch {
		case !isExported(name):
			if ok && name != "send" && name != "job.finalize" && name != "startJob" {
				t.Errorf("%s is not exported, and tells tools of %q: let the exported functions that call it tell", name, op)
			}
		case ok && excepted:
			t.Errorf("%s tells tools, but is listed as one that does not", name)
		case ok && op != d.Name.Name:
			t.Errorf("%s tells tools that it is %q", name, op)
		case ok, delegates(d) == "send":
			told++
		case !excepted:
			t.Errorf("%s tells tools nothing: begin it with one of the functions of tool_begin.go, or list it in unobservedNames with a reason", name)
		case unobserved[why] == "":
			t.Errorf("%s is listed without a reason", name)
		}
	}
	for name := range unobservedNames {
		if all[name] == nil && !strings.HasSuffix(name, ".*") {
			t.Errorf("%s is listed, and does not exist", name)
		}
	}
	if told < 150 {
		t.Errorf("%d functions tell tools: too few, the test sees nothing", told)
	}
}
