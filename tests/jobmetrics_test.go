//go:build linux

package tests

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() {
	programs["jobmetrics"] = jobMetricsRank
	programs["jobmetricslate"] = jobMetricsLate
}

// jobMetricsRank works, then stands still until the test writes to its pipe.
func jobMetricsRank() {
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		if err := jobMetricsWork(world); err != nil {
			return err
		}
		pid := filepath.Join(os.Getenv(envDir), fmt.Sprint("pid", world.Rank()))
		if err := os.WriteFile(pid+".tmp", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			return err
		}
		if err := os.Rename(pid+".tmp", pid); err != nil {
			return err
		}
		return standStill(world.Rank())
	})
}

// jobMetricsLate works, and finalizes; rank 0 then stands still, when it can no longer be asked.
func jobMetricsLate() {
	world, err := mpi.Init()
	if err == nil {
		err = jobMetricsWork(world)
	}
	if err == nil {
		err = mpi.Finalize()
	}
	if err == nil && world.Rank() == 0 {
		err = standStill(0)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func standStill(rank int) error {
	f, err := os.Open(filepath.Join(os.Getenv(envDir), fmt.Sprint("go", rank))) // waits for the writer
	if err != nil {
		return err
	}
	return f.Close()
}

// jobMetricsWork sends what metricsWant says and calls some collectives on a communicator with a
// name of its own.
func jobMetricsWork(world *mpi.Comm) error {
	if world.Rank() < 2 {
		if err := exchangeCounted(world); err != nil {
			return err
		}
	}
	rows, err := world.Dup(nil)
	if err != nil {
		return err
	}
	if err := rows.SetName("rows"); err != nil {
		return err
	}
	for range 3 {
		if _, err := mpi.Ibarrier(rows).Wait(); err != nil {
			return err
		}
	}
	return mpi.Barrier(rows)
}

// fitrunJob is a job of a real fitrun that serves its metrics.
type fitrunJob struct {
	t      *testing.T
	dir    string
	stderr buffer
	cmd    *exec.Cmd
	exit   chan error
	addr   string
	n      int
}

// startMetricsJob starts fitrun --metrics with more arguments for n ranks of a program, which end
// when the test does.
func startMetricsJob(t *testing.T, program string, n int, args ...string) *fitrunJob {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	j := &fitrunJob{t: t, dir: t.TempDir(), exit: make(chan error, 1), n: n}
	fitrun := fitrunPath(t)
	for r := range n {
		if err := syscall.Mkfifo(filepath.Join(j.dir, fmt.Sprint("go", r)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	j.cmd = exec.Command(fitrun, append(append([]string{"-n", strconv.Itoa(n), "--metrics", ":0", "--timeout", jobTimeout.String()}, args...), self, "rank")...)
	j.cmd.Env = append(os.Environ(), envProgram+"="+program, envDir+"="+j.dir, "FITMPI_PUSH_JOB=solver")
	j.cmd.Stderr, j.cmd.SysProcAttr = &j.stderr, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { j.exit <- j.cmd.Wait() })
	t.Cleanup(func() {
		j.letGo()
		wg.Wait()
		if err := <-j.exit; err != nil {
			t.Errorf("fitrun: %v\n%s", err, j.stderr.String())
		}
	})
	await(t, func() string {
		m := jobServes.FindStringSubmatch(j.stderr.String())
		if m == nil {
			return "fitrun does not say where it serves metrics: " + j.stderr.String()
		}
		j.addr = m[1]
		return ""
	})
	return j
}

var jobServes = regexp.MustCompile(`metrics of all ranks are at http://(127\.0\.0\.1:\d+)/metrics`)

// letGo ends the ranks.
func (j *fitrunJob) letGo() {
	for r := range j.n {
		f, err := os.OpenFile(filepath.Join(j.dir, fmt.Sprint("go", r)), os.O_RDWR, 0)
		if err != nil {
			j.t.Error(err)
			continue
		}
		j.t.Cleanup(func() { f.Close() })
	}
}

// scrape returns the samples that fitrun shows: series to value.
func (j *fitrunJob) scrape(path string, seconds string) (map[string]string, error) {
	tr := &http.Transport{DisableKeepAlives: true}
	req, err := http.NewRequest("GET", "http://"+j.addr+path, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Prometheus-Scrape-Timeout-Seconds", seconds)
	resp, err := (&http.Client{Transport: tr, Timeout: time.Minute}).Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	got := map[string]string{}
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		if i := strings.LastIndexByte(sc.Text(), ' '); i > 0 && sc.Text()[0] != '#' {
			got[sc.Text()[:i]] = sc.Text()[i+1:]
		}
	}
	return got, sc.Err()
}

// awaitSamples scrapes until the ranks show what is wanted.
func (j *fitrunJob) awaitSamples(path string, want map[string]string) {
	j.t.Helper()
	await(j.t, func() string {
		got, err := j.scrape(path, "10")
		if err != nil {
			return err.Error()
		}
		var b strings.Builder
		for name, value := range want {
			if !sameNumber(got[name], value) {
				fmt.Fprintf(&b, "%s is %q, want %s\n", name, got[name], value)
			}
		}
		return b.String()
	})
}

// jobWant is what metricsWant and the collectives amount to, as fitrun shows it.
func jobWant(transport string) map[string]string {
	host, err := os.Hostname()
	if err != nil {
		panic(err)
	}
	want := map[string]string{"fitmpi_failed_ranks": "0"}
	series := func(r int, name string) string { return withHost(withRank(name, r), host) }
	for r, ws := range metricsWant(transport) {
		for name, value := range ws {
			if !countsCollectives.MatchString(name) {
				want[series(r, name)] = value
			}
		}
		want[series(r, `fitmpi_collectives_total{comm="rows",operation="Barrier"}`)] = "4"
		want[series(r, `fitmpi_collectives_total{comm="world",operation="Dup"}`)] = "1"
	}
	return want
}

// countsCollectives are those of metricsWant to which the collectives of jobMetricsWork add.
var countsCollectives = regexp.MustCompile(`short|received_messages_total\{protocol="eager|received_bytes_total\{protocol="eager|size_bytes|match_attempts`)

// withHost puts the label host where the text format has it.
func withHost(series, host string) string {
	name, labels, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
	ls := strings.Split(labels, ",")
	at := 0
	for at < len(ls) && ls[at] < "host" {
		at++
	}
	ls = append(ls[:at:at], append([]string{fmt.Sprintf("host=%q", host)}, ls[at:]...)...)
	return name + "{" + strings.Join(ls, ",") + "}"
}

// TestJobMetrics: fitrun shows what all ranks of a running job have done, to the byte. A rank whose
// process is stopped holds up no other, and keeps its figures.
func TestJobMetrics(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it scrapes jobs")
	j := startMetricsJob(t, "jobmetrics", 2, "--transport", "tcp")
	host, _ := os.Hostname()
	up := func(r int) string { return withHost(withRank("fitmpi_rank_up{}", r), host) }
	want := jobWant("tcp")
	want[`fitmpi_ranks{state="joined"}`], want[up(0)], want[up(1)] = "2", "1", "1"
	j.awaitSamples("/metrics", want)

	pid := j.pid(1)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	want[up(1)] = "0"
	j.awaitSamples("/metrics", want)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	want[up(1)] = "1"
	j.awaitSamples("/metrics", want)
}

// pid is the process of a rank, when it stands still.
func (j *fitrunJob) pid(rank int) int {
	j.t.Helper()
	var pid int
	await(j.t, func() string {
		b, err := os.ReadFile(filepath.Join(j.dir, fmt.Sprint("pid", rank)))
		if err == nil {
			pid, err = strconv.Atoi(string(b))
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	if pid == 0 {
		j.t.FailNow()
	}
	return pid
}

// TestJobMetricsGone: the last figures of ranks that can no longer be asked remain, of those that
// have exited too.
func TestJobMetricsGone(t *testing.T) {
	t.Parallel()
	j := startMetricsJob(t, "jobmetricslate", 2, "--transport", "tcp")
	want := jobWant("tcp")
	want[`fitmpi_ranks{state="over"}`], want[`fitmpi_ranks{state="finalizing"}`] = "1", "1"
	j.awaitSamples("/metrics", want)
}

// TestJobMetricsKilled: so do those of a rank that a signal has ended, in a job that goes on
// without it.
func TestJobMetricsKilled(t *testing.T) {
	t.Parallel()
	j := startMetricsJob(t, "jobmetrics", 2, "--with-ft", "--transport", "tcp")
	host, _ := os.Hostname()
	want := jobWant("tcp")
	j.awaitSamples("/metrics", want)
	if err := syscall.Kill(j.pid(1), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(want, func(series, _ string) bool { return !strings.Contains(series, `rank="1"`) })
	want["fitmpi_failed_ranks"], want[withHost(withRank("fitmpi_rank_up{}", 1), host)] = "1", "0"
	j.awaitSamples("/metrics", want)
}

// TestJobMetricsMany: sixty-four ranks at one endpoint, and each at a path of its own.
func TestJobMetricsMany(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "it scrapes a large job")
	const n = 64
	j := startMetricsJob(t, "jobmetrics", n, "--ranks-per-process", "16")
	host, _ := os.Hostname()
	want := map[string]string{`fitmpi_ranks{state="joined"}`: strconv.Itoa(n)}
	for r := range n {
		want[withHost(withRank("fitmpi_rank_up{}", r), host)] = "1"
		want[withHost(withRank(`fitmpi_collectives_total{comm="rows",operation="Barrier"}`, r), host)] = "4"
	}
	j.awaitSamples("/metrics", want)
	last := withHost(withRank("fitmpi_rank_up{}", n-1), host)
	j.awaitSamples(fmt.Sprintf("/rank/%d/metrics", n-1), map[string]string{last: "1"})
	if got, err := j.scrape("/rank/0/metrics", "10"); err != nil || got[last] != "" {
		t.Errorf("rank 0 alone: %v, and shows the last: %q", err, got[last])
	}
}

// TestJobPrometheus has a Prometheus server with native histograms scrape fitrun, and find the
// ranks through it: those that serve their metrics themselves there, the others at fitrun. Where a
// secret is asked for, it has that of a file.
func TestJobPrometheus(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "Prometheus scrapes once a second; TestPrometheus has one, too")
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skipf("no prometheus (Debian's package of that name): %v", err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("not so secret ", 3)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]string{"fitrun": nil, "ranks": {"-x", "FITMPI_METRICS=127.0.0.1:0", "--http-auth", secret}} {
		t.Run(name, func(t *testing.T) {
			credentials := ""
			if name == "ranks" {
				credentials = fmt.Sprintf(", authorization: {type: Bearer, credentials_file: %q}", secret)
			}
			j := startMetricsJob(t, "jobmetrics", 2, append(args, "--transport", "tcp")...)
			j.pid(0)
			j.pid(1)
			config := fmt.Sprintf(`global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- {job_name: whole, static_configs: [{targets: [%q]}]%s}
- {job_name: found, honor_labels: true, http_sd_configs: [{url: "http://%s/sd", refresh_interval: 1s%s}]%s}
`, j.addr, credentials, j.addr, credentials, credentials)
			if code := statusOf(t, "http://"+j.addr+"/metrics"); (code == http.StatusUnauthorized) != (name == "ranks") {
				t.Errorf("without the secret fitrun answers %d", code)
			}
			query := runPrometheus(t, program, j.dir, config, "--enable-feature=native-histograms")
			for q, want := range map[string]string{
				`up{job="whole"}`:                  "1",
				`sum(up{job="solver"})`:            "2",
				`sum(fitmpi_rank_up{job="whole"})`: "2",
				`count(up{job="solver",rank="1"})`: "1",
				`count(fitmpi_connections{job="solver",rank="1",exported_rank=""})`:                                                                                                 "1",
				`fitmpi_sent_messages_total{job="whole",rank="0",transport="tcp",protocol="rendezvous"}`:                                                                            "2",
				`fitmpi_sent_messages_total{job="solver",rank="0",transport="tcp",protocol="rendezvous"}`:                                                                           "2",
				`fitmpi_collectives_total{job="whole",rank="1",comm="rows",operation="Barrier"}`:                                                                                    "4",
				`fitmpi_collectives_total{job="solver",rank="1",comm="rows",operation="Barrier"}`:                                                                                   "4",
				`histogram_fraction(262144, 1048576, fitmpi_sent_message_size_bytes{job="whole",rank="0"}) * histogram_count(fitmpi_sent_message_size_bytes{job="whole",rank="0"})`: "2",
				`histogram_quantile(1, fitmpi_sent_message_size_bytes{job="whole",rank="0"})`:                                                                                       "1048576",
				`histogram_quantile(1, fitmpi_sent_message_size_bytes{job="solver",rank="0"})`:                                                                                      "1048576",
				fmt.Sprintf(`count(up{job="solver",instance=%q}) or vector(0)`, j.addr):                                                                                             map[string]string{"fitrun": "2", "ranks": "0"}[name],
			} {
				await(t, func() string {
					if got := query(q); !sameNumber(got, want) {
						return fmt.Sprintf("%s is %s, want %s", q, got, want)
					}
					return ""
				})
			}
		})
	}
}

// statusOf is how a server answers a client that gives no secret.
func statusOf(t *testing.T, url string) int {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: jobTimeout}
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}
