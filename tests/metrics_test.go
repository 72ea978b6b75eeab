//go:build linux

package tests

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() { programs["metrics"] = metricsRank }

// metricsRank sends what metricsWant says, then stands still until the test writes to its pipe: the
// figures of a job that runs.
func metricsRank() {
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		if err := exchangeCounted(world); err != nil {
			return err
		}
		f, err := os.Open(filepath.Join(os.Getenv(envDir), fmt.Sprint("go", world.Rank()))) // waits for the writer
		if err != nil {
			return err
		}
		return f.Close()
	})
}

// exchangeCounted sends ten messages of 8 bytes, three of 5000 and two of 1 MiB from rank 0 to rank
// 1.
func exchangeCounted(world *mpi.Comm) error {
	for tag, n := range []int{8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 5000, 5000, 5000, 1 << 20, 1 << 20} {
		b := make([]byte, n)
		if world.Rank() == 0 {
			if err := mpi.Send(world, b, 1, tag); err != nil {
				return err
			}
		} else if _, err := mpi.Recv(world, b, 0, tag); err != nil {
			return err
		}
	}
	return nil
}

// metricsWant are the figures that follow from exchangeCounted, by series without the label rank.
// Whether a message comes before its receive, and how many frames give credit back, is not among
// them.
func metricsWant(transport string) (of [2]map[string]string) {
	series := func(name, protocol string) string {
		return fmt.Sprintf("fitmpi_%s_total{protocol=%q,transport=%q}", name, protocol, transport)
	}
	return [2]map[string]string{{
		series("sent_messages", "short"): "10", series("sent_bytes", "short"): "80",
		series("sent_messages", "eager"): "3", series("sent_bytes", "eager"): "15000",
		series("sent_messages", "rendezvous"): "2", series("sent_bytes", "rendezvous"): "2097152",
		series("received_messages", "eager"): "0", series("received_messages", "rendezvous"): "0",
		"fitmpi_sent_message_size_bytes_count{}": "15", "fitmpi_sent_message_size_bytes_sum{}": "2112232",
		`fitmpi_sent_message_size_bytes_bucket{le="4"}`: "0", `fitmpi_sent_message_size_bytes_bucket{le="16"}`: "10",
		`fitmpi_sent_message_size_bytes_bucket{le="16384"}`: "13", `fitmpi_sent_message_size_bytes_bucket{le="1.048576e+06"}`: "15",
		`fitmpi_rendezvous_outstanding{direction="send"}`: "0", "fitmpi_active_operations{}": "0",
		"fitmpi_credit_stalls_total{}": "0", "fitmpi_failed_peers_total{}": "0",
		fmt.Sprintf("fitmpi_peers{transport=%q}", transport): "1",
	}, {
		series("received_messages", "eager"): "13", series("received_bytes", "eager"): "15080",
		series("received_messages", "rendezvous"): "2", series("received_bytes", "rendezvous"): "2097152",
		series("sent_messages", "short"): "0", series("sent_messages", "rendezvous"): "0",
		"fitmpi_sent_message_size_bytes_count{}": "0", "fitmpi_posted_receives{}": "0", "fitmpi_event_queue_messages{}": "0",
		`fitmpi_rendezvous_outstanding{direction="receive"}`: "0", `fitmpi_match_attempts_total{queue="request"}`: "15",
		`fitmpi_match_attempts_total{queue="event"}`: "15",
	}}
}

// metricsJob runs metricsRank as two ranks while then does something with them.
func metricsJob(t *testing.T, transport, metrics string, then func(dir string, stderr *buffer)) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := range 2 {
		if err := syscall.Mkfifo(filepath.Join(dir, fmt.Sprint("go", r)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := []string{"FITMPI_TRANSPORT=" + transport, "FITMPI_SHM_COPY=ring"} // else it depends on the machine which messages are announced
	req := binaryRequest(self, "metrics", 2, "assist", dir)
	if strings.HasPrefix(metrics, "unix:") {
		set = append(set, "FITMPI_METRICS="+metrics)
	} else {
		req = req.with("--rank-metrics", metrics)
	}
	req.set = append(req.set, set...)
	cmd := req.command(t)
	var stderr buffer
	cmd.Stderr = &stderr
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if err := cmd.Run(); err != nil {
			t.Errorf("%v\n%s", err, stderr.String())
		}
	})
	defer letGo(t, dir)
	then(dir, &stderr)
}

// letGo ends the ranks of metricsJob. Opening for reading and writing does not wait for a reader
// that will not come.
func letGo(t *testing.T, dir string) {
	for r := range 2 {
		f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint("go", r)), os.O_RDWR, 0)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Cleanup(func() { f.Close() }) // a rank that comes later finds a writer
	}
}

// await waits until cond is met: it returns "" then, else what is missing.
func await(t *testing.T, cond func() string) {
	t.Helper()
	for until := time.Now().Add(failsafe); ; time.Sleep(20 * time.Millisecond) {
		missing := cond()
		if missing == "" {
			return
		}
		if time.Now().After(until) {
			t.Error(missing)
			return
		}
	}
}

// TestMetricsPredicted: what a running job shows is what it has done, to the byte.
func TestMetricsPredicted(t *testing.T) {
	t.Parallel()
	for transport, label := range map[string]string{"tcp": "tcp", "auto": "shared"} {
		t.Run(label, func(t *testing.T) {
			sockets := t.TempDir()
			metricsJob(t, transport, "unix:"+filepath.Join(sockets, "rank{rank}"), func(string, *buffer) {
				for r, want := range metricsWant(label) {
					await(t, func() string { return missing(scrape(filepath.Join(sockets, fmt.Sprint("rank", r))), r, want) })
				}
			})
			if files, err := os.ReadDir(sockets); err != nil || len(files) > 0 {
				t.Errorf("sockets are left: %v %v", files, err)
			}
		})
	}
}

// scrape reads the metrics at a Unix socket: series to value.
func scrape(path string) map[string]string {
	tr := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Get("http://rank/metrics")
	if err != nil {
		return nil // not there yet
	}
	defer resp.Body.Close()
	got := map[string]string{}
	for sc := bufio.NewScanner(resp.Body); sc.Scan(); {
		if i := strings.LastIndexByte(sc.Text(), ' '); i > 0 && sc.Text()[0] != '#' {
			got[sc.Text()[:i]] = sc.Text()[i+1:]
		}
	}
	return got
}

// missing says which of the series that rank is to show it does not.
func missing(got map[string]string, rank int, want map[string]string) string {
	var b strings.Builder
	for name, value := range want {
		if got := got[withRank(name, rank)]; !sameNumber(got, value) {
			fmt.Fprintf(&b, "rank %d: %s is %q, want %s\n", rank, name, got, value)
		}
	}
	return b.String()
}

// sameNumber compares numbers that may be written with an exponent.
func sameNumber(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && x == y
}

// withRank puts the label rank where the text format has it: le comes last, the others are sorted.
func withRank(series string, rank int) string {
	name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	ls := []string{fmt.Sprintf("rank=%q", fmt.Sprint(rank))}
	if labels != "" {
		ls = append(ls, strings.Split(labels, ",")...)
	}
	slices.Sort(ls)
	slices.SortStableFunc(ls, func(a, b string) int {
		return map[bool]int{true: 1}[strings.HasPrefix(a, "le=")] - map[bool]int{true: 1}[strings.HasPrefix(b, "le=")]
	})
	return name + "{" + strings.Join(ls, ",") + "}"
}

// TestPrometheus has a Prometheus server scrape a running job, with the rules that we ship, and
// asks it for what the job did.
func TestPrometheus(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "Prometheus scrapes once a second")
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skipf("no prometheus (Debian's package of that name): %v", err)
	}
	metricsJob(t, "tcp", "127.0.0.1:0", func(dir string, stderr *buffer) {
		var targets []string
		await(t, func() string {
			for _, m := range servesMetrics.FindAllStringSubmatch(stderr.String(), -1) {
				targets = append(targets, m[1])
			}
			if len(targets) != 2 {
				targets = nil
				return "the launcher does not say where the ranks serve metrics: " + stderr.String()
			}
			return ""
		})
		if targets == nil {
			return
		}
		query := startPrometheus(t, program, dir, targets)
		await(t, func() string {
			if got := query("sum(up)"); got != "2" {
				return "targets that are up: " + got
			}
			return ""
		})
		for r, want := range metricsWant("tcp") {
			for name, value := range want {
				await(t, func() string {
					if got := query(withRank(name, r)); !sameNumber(got, value) {
						return fmt.Sprintf("rank %d: Prometheus knows %s as %q, want %s", r, name, got, value)
					}
					return ""
				})
			}
		}
		await(t, func() string {
			if got := query(`count(fitmpi:waiting:ratio)`); got != "2" {
				return "the rules record the waiting of so many ranks: " + got
			}
			return ""
		})
	})
}

var servesMetrics = regexp.MustCompile(`rank \d serves metrics at http://(\S+)/metrics`)

// startPrometheus is runPrometheus of a server that scrapes the targets.
func startPrometheus(t *testing.T, program, dir string, targets []string) func(query string) string {
	t.Helper()
	rules, err := filepath.Abs("../deploy/prometheus/fitmpi.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}\nrule_files: [%q]\nscrape_configs: [{job_name: fitmpi, scrape_interval: 1s, scrape_timeout: 1s, static_configs: [{targets: [%q, %q]}]}]\n", rules, targets[0], targets[1])
	return runPrometheus(t, program, dir, config)
}

// runPrometheus runs a server with a configuration and more options, until the test ends. It
// returns how to ask it for the one value that a query has.
func runPrometheus(t *testing.T, program, dir, config string, options ...string) func(query string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{
		"--config.file=" + filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(dir, "tsdb"), "--web.listen-address=127.0.0.1:0",
	}, options...)...)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var output buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Logf("prometheus wrote:\n%s", output.String())
		}
	})
	var addr string
	await(t, func() string {
		m := listensAt.FindStringSubmatch(output.String())
		if m == nil {
			return "Prometheus does not say where it listens"
		}
		addr = m[1]
		return ""
	})
	return func(query string) string { return ask(addr, query) }
}

// listensAt is how Prometheus says which port it was given.
var listensAt = regexp.MustCompile(`"Listening on".* address=(127\.0\.0\.1:\d+)`)

// ask returns the value of a query that has one, else what there is instead.
func ask(addr, query string) string {
	tr := &http.Transport{DisableKeepAlives: true}
	resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Get("http://" + addr + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	var answer struct {
		Error string
		Data  struct{ Result []struct{ Value []any } }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return err.Error()
	}
	if n := len(answer.Data.Result); n != 1 || len(answer.Data.Result[0].Value) != 2 {
		return fmt.Sprintf("%d series %s", n, answer.Error)
	}
	return fmt.Sprint(answer.Data.Result[0].Value[1])
}

func init() { programs["push"] = pushRank }

func pushRank() {
	mpi.Main(func(_ context.Context, world *mpi.Comm) error { return exchangeCounted(world) })
}

// TestPushAtExit: a short job leaves its figures with a Pushgateway, under a name of its own; one
// that cannot be reached does not make the job fail.
func TestPushAtExit(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	pushed := map[string]string{}
	gw := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		pushed[r.URL.Path] = string(b)
	}))
	defer gw.Close()
	run := runJob(t, "push", 2, "assist", t.TempDir(), "FITMPI_PUSH="+gw.URL, "FITMPI_PUSH_JOB=nightly")
	if run.code != 0 || run.stderr != "" {
		t.Fatalf("code %d\n%s", run.code, run.stderr)
	}
	mu.Lock()
	defer mu.Unlock()
	for r := range 2 {
		path := fmt.Sprintf("/metrics/job/nightly/instance/rank-%d", r)
		if b := pushed[path]; !strings.Contains(b, "fitmpi_sent_messages_total") {
			t.Errorf("%d bytes were pushed to %s", len(b), path)
		}
	}
	if len(pushed) != 2 {
		t.Errorf("%d pushes, want 2", len(pushed))
	}
	run = runJob(t, "push", 2, "assist", t.TempDir(), "FITMPI_PUSH=http://127.0.0.1:1")
	if run.code != 0 || !strings.Contains(run.stderr, "metrics are lost") {
		t.Errorf("a gateway that is not there: code %d\n%s", run.code, run.stderr)
	}
}
