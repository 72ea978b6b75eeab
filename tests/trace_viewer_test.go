//go:build linux

package tests

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/webtest"
)

// viewerPage loads the trace viewer that comes with Go, which is that of Chrome's tracing page, as
// the go command's own pages do.
const viewerPage = `<!DOCTYPE html><html><head><title>viewer</title><script src="/static/webcomponents.min.js"></script>
<link rel="import" href="/static/trace_viewer_full.html"></head><body></body></html>`

// readIntoViewer reads /out.json as the viewer does when a user opens it, and says what it has
// understood.
const readIntoViewer = `fetch("/out.json").then(r => r.text()).then(text => {
	const model = new tr.Model(), options = new tr.importer.ImportOptions();
	options.showImportWarnings = false;
	new tr.importer.Import(model, options).importTraces([text]);
	const ranks = Object.values(model.processes), tracks = ranks.flatMap(p => Object.values(p.threads));
	return {
		Ranks: ranks.map(p => p.name), Flows: model.flowEvents.length, Warnings: model.importWarnings.map(w => w.message),
		Slices: tracks.reduce((n, t) => n + t.sliceGroup.slices.length, 0),
		Ends: model.flowEvents.filter(f => f.startSlice && f.endSlice).length,
	};
})`

// A viewer that others have written opens a trace, and finds in it what there is: every slice, and
// both ends of every arrow.
func TestTraceInViewer(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "it needs a browser")
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	static := filepath.Join(strings.TrimSpace(string(root)), "src/internal/trace/traceviewer/static")
	if _, err := os.Stat(filepath.Join(static, "trace_viewer_full.html")); err != nil {
		t.Skipf("this Go has no trace viewer: %v", err)
	}
	b := webtest.Start(t)
	file := filepath.Join(t.TempDir(), "out.json")
	run := readTrace(t, startTraced(t, "exchange", file, "-n", "3").end(t, jobTimeout), file, sameClock)
	run.wantClean(t)

	mux := http.NewServeMux()
	mux.Handle("GET /static/", http.StripPrefix("/static/", http.FileServer(http.Dir(static))))
	mux.HandleFunc("GET /out.json", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, file) })
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(viewerPage)) })
	s := httptest.NewServer(mux)
	defer s.Close()
	p := b.Open(s.URL, 1200, 800)
	p.Until(`document.readyState === "complete" && typeof tr !== "undefined" && tr.Model !== undefined && tr.importer.Import !== undefined`)
	var seen struct {
		Ranks, Warnings     []string
		Slices, Flows, Ends int
	}
	p.Eval(readIntoViewer, &seen)
	slices := 0
	for _, e := range run.trace.Events {
		if e.Ph == "X" {
			slices++
		}
	}
	if len(seen.Ranks) != 3 || len(seen.Warnings) > 0 || seen.Slices != slices || seen.Flows != len(run.flows) || seen.Ends != seen.Flows || slices == 0 || seen.Flows == 0 {
		t.Errorf("the viewer sees %+v; there are %d slices and %d flows", seen, slices, len(run.flows))
	}
}
