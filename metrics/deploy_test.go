//go:build linux && !fitmpi_portable

package metrics

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

const deploy = "../deploy"

// shownNames are the names of all series that a rank serves, as queries name them.
func shownNames(t *testing.T) map[string]bool {
	t.Helper()
	s, _ := numbered(t)
	families, err := registry(Source{Rank: 3, Stats: func() engine.Stats { return s }, Collectives: someCalls}).Gather()
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, name := range jobNames(t) {
		names[name] = true
	}
	for _, f := range families {
		names[f.GetName()] = true
		if f.GetMetric()[0].GetHistogram() != nil {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				names[f.GetName()+suffix] = true
			}
		}
	}
	return names
}

// jobNames are the names that only fitrun shows, as cmd/fitrun/internal/jobmetrics, which tests
// itself, has them.
func jobNames(t *testing.T) (names []string) {
	t.Helper()
	source, err := os.ReadFile("../cmd/fitrun/internal/jobmetrics/collect.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`"(fitmpi_[a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
		names = append(names, m[1])
	}
	if len(names) < 5 {
		t.Fatalf("the names of cmd/fitrun/internal/jobmetrics were not found: %q", names)
	}
	return names
}

var (
	metricName = regexp.MustCompile(`\b(?:fitmpi_|go_sched_)[a-z0-9_]+`)
	recordName = regexp.MustCompile(`\bfitmpi:[a-z0-9_:]+`)
	recording  = regexp.MustCompile(`(?m)^\s*- record: (\S+)$`)
)

// TestDeployNames holds what is shipped for Prometheus and Grafana, and what is documented, to the
// names that exist, and the documentation to all of ours.
func TestDeployNames(t *testing.T) {
	shown, recorded := shownNames(t), map[string]bool{}
	rules, err := os.ReadFile(filepath.Join(deploy, "prometheus", "fitmpi.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range recording.FindAllStringSubmatch(string(rules), -1) {
		recorded[m[1]] = true
	}
	for _, path := range []string{"prometheus/fitmpi.rules.yml", "prometheus/fitmpi.rules.test.yml", "grafana/fitmpi.json", "../docs/METRICS.md"} {
		b, err := os.ReadFile(filepath.Join(deploy, path))
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, name := range metricName.FindAllString(string(b), -1) {
			if found++; !shown[name] {
				t.Errorf("%s names %s, which no rank shows", path, name)
			}
		}
		for _, name := range recordName.FindAllString(string(b), -1) {
			if !recorded[name] {
				t.Errorf("%s names %s, which no rule records", path, name)
			}
		}
		if found == 0 {
			t.Errorf("%s names no metric", path)
		}
	}
	doc, err := os.ReadFile("../docs/METRICS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range telemetry.Metrics() {
		if !strings.Contains(string(doc), "`fitmpi_"+m.Name+"`") {
			t.Errorf("docs/METRICS.md does not say what fitmpi_%s is", m.Name)
		}
	}
	for _, name := range jobNames(t) {
		if !strings.Contains(string(doc), "`"+name+"`") {
			t.Errorf("docs/METRICS.md does not say what %s is", name)
		}
	}
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(doc), m[1]) {
			t.Errorf("docs/METRICS.md does not say what to do about %s", m[1])
		}
		tests, err := os.ReadFile(filepath.Join(deploy, "prometheus", "fitmpi.rules.test.yml"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(tests), "alertname: "+m[1]) {
			t.Errorf("no test of alert %s", m[1])
		}
	}
}

// TestDashboard: the dashboard is one that Grafana can import: every panel has a place of its own
// and a query.
func TestDashboard(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(deploy, "grafana", "fitmpi.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Title, UID string
		Panels     []struct {
			ID          int
			Type, Title string
			GridPos     struct{ H, W, X, Y int }
			Targets     []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(b, &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || d.UID == "" {
		t.Errorf("title %q, uid %q", d.Title, d.UID)
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("%s: another panel has id %d", p.Title, p.ID)
		}
		if ids[p.ID] = true; p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("%s shows nothing", p.Title)
		}
		if g := p.GridPos; g.X+g.W > 24 {
			t.Errorf("%s is beyond the edge: %+v", p.Title, g)
		}
		for y := range p.GridPos.H {
			for x := range p.GridPos.W {
				at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other, ok := cells[at]; ok {
					t.Fatalf("%s and %s are both at %v", other, p.Title, at)
				}
				cells[at] = p.Title
			}
		}
		for _, target := range p.Targets {
			if !metricName.MatchString(target.Expr) {
				t.Errorf("%s: %q asks for no metric of ours", p.Title, target.Expr)
			}
		}
	}
}

// TestRules has promtool read the rules and the example of a configuration, and run the rules'
// tests.
func TestRules(t *testing.T) {
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("no promtool (Debian's package prometheus): %v", err)
	}
	for _, args := range [][]string{
		{"check", "rules", "--lint=all", "--lint-fatal", "fitmpi.rules.yml"},
		{"check", "config", "prometheus.yml"},
		{"test", "rules", "fitmpi.rules.test.yml"},
	} {
		cmd := exec.Command(program, args...)
		cmd.Dir = filepath.Join(deploy, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
