//go:build linux && !fitmpi_portable

package metrics

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
)

func pushed() engine.Stats { return engine.Stats{Turns: 42} }

func TestPush(t *testing.T) {
	var method, path, body string
	status := http.StatusOK
	gw := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		method, path, body = r.Method, r.URL.Path, string(b)
		w.WriteHeader(status)
	}))
	defer gw.Close()
	if err := Push(t.Context(), gw.URL, "solver", Source{Rank: 3, Stats: pushed}); err != nil {
		t.Fatal(err)
	}
	if method != http.MethodPut || path != "/metrics/job/solver/instance/rank-3" {
		t.Errorf("%s %s", method, path)
	}
	if !strings.Contains(body, "fitmpi_driver_turns_total") || !strings.Contains(body, "go_goroutines") {
		t.Errorf("pushed %q", body)
	}
	status = http.StatusInternalServerError
	if err := Push(t.Context(), gw.URL, "solver", Source{Rank: 3, Stats: pushed}); err == nil {
		t.Error("a push that the gateway refuses is no error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Push(ctx, gw.URL, "solver", Source{Rank: 3, Stats: pushed}); err == nil {
		t.Error("a push whose context has ended is no error")
	}
}

// TestPushgateway pushes to a real one and reads there what it shows.
func TestPushgateway(t *testing.T) {
	program, err := exec.LookPath("prometheus-pushgateway")
	if err != nil {
		t.Skipf("no prometheus-pushgateway (Debian's package of that name): %v", err)
	}
	addr := start(t, program, "--web.listen-address")
	c := client(t)
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err = Push(t.Context(), "http://"+addr, "solver", Source{Rank: 3, Stats: pushed}); err == nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	resp, err := c.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if want := `fitmpi_driver_turns_total{instance="rank-3",job="solver",rank="3"} 42`; !strings.Contains(string(b), want) {
		t.Errorf("the gateway does not show %s", want)
	}
}
