//go:build linux

package jobmetrics

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// stage is a job of ranks that exist for their view only.
type stage struct {
	t    *testing.T
	view *view.View
	h    http.Handler

	mu    sync.Mutex
	asked []int        // questions to each rank; guarded by mu
	mute  map[int]bool // ranks that do not answer; guarded by mu
}

// newStage begins a job of n ranks, all of which take part; those from the second half on are on
// another machine.
func newStage(t *testing.T, n int) *stage {
	s := &stage{t: t, view: view.New(), asked: make([]int, n), mute: map[int]bool{}}
	s.h = Handler(s.view, "solver")
	job := &launch.Job{Ranks: make([]launch.Rank, n)}
	for r := range n {
		host, here := "near", true
		if r >= (n+1)/2 {
			host, here = "me@far", false
		}
		job.Processes = append(job.Processes, launch.Process{Ranks: []int{r}, Host: host, Here: here})
	}
	s.view.Begin(job, s)
	for r := range n {
		s.view.Changed(r, launch.State{Phase: launch.Joined, PID: 100 + r})
	}
	return s
}

// Ask implements launch.Control: each rank says how often it was asked.
func (s *stage) Ask(ranks []int, number int, question string) {
	for _, r := range ranks {
		s.mu.Lock()
		s.asked[r]++
		n, mute := s.asked[r], s.mute[r]
		s.mu.Unlock()
		if question != telemetry.AskCounters {
			s.t.Errorf("rank %d is asked for %s", r, question)
		}
		if !mute {
			s.answer(r, number, uint64(n))
		}
	}
}

func (s *stage) answer(rank, number int, turns uint64) {
	report := telemetry.Report{Counters: &telemetry.Counters{
		Stats:       engine.Stats{Turns: turns, Rejects: map[string]uint64{"timeout": 7}},
		Collectives: []telemetry.Calls{{Comm: "rows", Op: "Bcast", Count: 5, Waited: 1500 * time.Millisecond}},
		Process:     telemetry.Process{RSS: 1 << 20, PeakRSS: 1 << 21, Heap: 1 << 19, CPU: time.Second, Goroutines: 9},
		Ready:       &telemetry.Durations{Bounds: []float64{1e-6, 1e-5}, Counts: []uint64{3, 2, 1}},
	}}
	data, err := json.Marshal(report)
	if err != nil {
		s.t.Error(err)
	}
	s.view.Answered(rank, number, data)
}

func (s *stage) Say(string)        {}
func (s *stage) Abort(int, string) {}

func (s *stage) silence(rank int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute[rank] = true
}

func (s *stage) wantAsked(why string, want ...int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for r, n := range want {
		if s.asked[r] != n {
			s.t.Errorf("%s: rank %d was asked %d times, want %d", why, r, s.asked[r], n)
		}
	}
}

func (s *stage) get(path string, header ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest("GET", "http://fitrun.example:9600"+path, nil)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	req.RemoteAddr = "127.0.0.1:5555"
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, req)
	return w
}

// scrape returns the samples at a path.
func (s *stage) scrape(path string, header ...string) map[string]string {
	s.t.Helper()
	w := s.get(path, header...)
	if w.Code != http.StatusOK {
		s.t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	got := map[string]string{}
	for sc := bufio.NewScanner(w.Body); sc.Scan(); {
		if i := strings.LastIndexByte(sc.Text(), ' '); i > 0 && sc.Text()[0] != '#' {
			got[sc.Text()[:i]] = sc.Text()[i+1:]
		}
	}
	return got
}

func (s *stage) want(why string, got map[string]string, want map[string]string) {
	s.t.Helper()
	for name, value := range want {
		if got[name] != value {
			s.t.Errorf("%s: %s is %q, want %q", why, name, got[name], value)
		}
	}
}

// TestAll: one endpoint shows all ranks and the job, and a scrape asks each rank once.
func TestAll(t *testing.T) {
	s := newStage(t, 2)
	s.want("a scrape", s.scrape("/metrics"), map[string]string{
		`fitmpi_driver_turns_total{host="near",rank="0"}`:                                          "1",
		`fitmpi_driver_turns_total{host="me@far",rank="1"}`:                                        "1",
		`fitmpi_rejected_handshakes_total{host="me@far",rank="1",reason="timeout"}`:                "7",
		`fitmpi_collectives_total{comm="rows",host="near",operation="Bcast",rank="0"}`:             "5",
		`fitmpi_collective_wait_seconds_total{comm="rows",host="near",operation="Bcast",rank="0"}`: "1.5",
		`fitmpi_rank_up{host="near",rank="0"}`:                                                     "1",
		`fitmpi_ranks{state="joined"}`:                                                             "2",
		`fitmpi_ranks{state="over"}`:                                                               "0",
		`fitmpi_failed_ranks`:                                                                      "0",
		`process_resident_memory_bytes{host="near",rank="0"}`:                                      "1.048576e+06",
		`fitmpi_peak_resident_memory_bytes{host="near",rank="0"}`:                                  "2.097152e+06",
		`go_memstats_heap_alloc_bytes{host="near",rank="0"}`:                                       "524288",
		`process_cpu_seconds_total{host="near",rank="0"}`:                                          "1",
		`go_goroutines{host="near",rank="0"}`:                                                      "9",
		`go_sched_latencies_seconds_bucket{host="near",rank="0",le="1e-05"}`:                       "5",
		`go_sched_latencies_seconds_bucket{host="near",rank="0",le="+Inf"}`:                        "6",
	})
	s.wantAsked("one scrape", 1, 1)
	s.scrape("/metrics")
	s.wantAsked("another at once", 1, 1)
}

// TestOne: one rank is scraped without the others being asked.
func TestOne(t *testing.T) {
	s := newStage(t, 3)
	got := s.scrape("/rank/1/metrics")
	s.want("a scrape of rank 1", got, map[string]string{`fitmpi_driver_turns_total{host="near",rank="1"}`: "1", `fitmpi_rank_up{host="near",rank="1"}`: "1"})
	for name := range got {
		if !strings.Contains(name, `rank="1"`) {
			t.Errorf("a scrape of rank 1 shows %s", name)
		}
	}
	s.wantAsked("a scrape of rank 1", 0, 1, 0)
	for _, path := range []string{"/rank/3/metrics", "/rank/-1/metrics", "/rank/x/metrics", "/rank/1/", "/", "/debug/pprof/"} {
		if w := s.get(path); w.Code != http.StatusNotFound {
			t.Errorf("GET %s: %d, want %d", path, w.Code, http.StatusNotFound)
		}
	}
}

// TestSilent: a rank that does not answer holds a scrape up for half the scraper's time and no
// longer, and keeps its figures. After many questions it is not waited for any more, until it
// answers.
func TestSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 2)
		s.scrape("/metrics")
		s.silence(1)
		time.Sleep(time.Second)
		began := time.Now()
		s.want("rank 1 is stopped", s.scrape("/metrics", "X-Prometheus-Scrape-Timeout-Seconds", "1"), map[string]string{
			`fitmpi_driver_turns_total{host="near",rank="0"}`:        "2",
			`fitmpi_driver_turns_total{host="me@far",rank="1"}`:      "1",
			`fitmpi_rank_up{host="near",rank="0"}`:                   "1",
			`fitmpi_rank_up{host="me@far",rank="1"}`:                 "0",
			`fitmpi_rank_answer_age_seconds{host="me@far",rank="1"}`: "1.5",
			`fitmpi_rank_answer_age_seconds{host="near",rank="0"}`:   "0.5",
		})
		if took := time.Since(began); took != time.Second/2 {
			t.Errorf("the scrape took %v, want half of the scraper's second", took)
		}
		began = time.Now()
		s.scrape("/metrics")
		if took := time.Since(began); took != longestWait {
			t.Errorf("the scrape of one who does not say what time he has took %v, want %v", took, longestWait)
		}
		for range 20 {
			s.scrape("/metrics", "X-Prometheus-Scrape-Timeout-Seconds", "0.2")
			time.Sleep(fresh)
		}
		s.mu.Lock()
		asked := s.asked[1]
		s.mu.Unlock()
		if asked > 17 {
			t.Errorf("a rank that does not answer was asked %d times", asked)
		}
		time.Sleep(fresh + time.Millisecond)
		began = time.Now()
		s.scrape("/metrics")
		if took := time.Since(began); took != 0 {
			t.Errorf("a rank that has left %d questions unanswered held a scrape up for %v", asked, took)
		}
		s.answer(1, 1, 99) // of long ago
		s.want("rank 1 answers again", s.scrape("/metrics"), map[string]string{`fitmpi_driver_turns_total{host="me@far",rank="1"}`: "99"})
	})
}

// TestDead: the figures of a rank that has died remain.
func TestDead(t *testing.T) {
	s := newStage(t, 2)
	s.scrape("/metrics")
	s.view.Changed(1, launch.State{Phase: launch.Over, Code: 137})
	s.want("rank 1 has died", s.scrape("/metrics"), map[string]string{
		`fitmpi_driver_turns_total{host="me@far",rank="1"}`: "1",
		`fitmpi_rank_up{host="me@far",rank="1"}`:            "0",
		`fitmpi_ranks{state="joined"}`:                      "1",
		`fitmpi_ranks{state="over"}`:                        "1",
		`fitmpi_failed_ranks`:                               "1",
		`fitmpi_job_restarts_total`:                         "0",
	})
	s.wantAsked("rank 1 has died", 1, 1)
	s.view.Begin(&launch.Job{Ranks: make([]launch.Rank, 2)}, s)
	s.want("the job begins again", s.scrape("/metrics"), map[string]string{
		`fitmpi_ranks{state="joined"}`: "0",
		`fitmpi_failed_ranks`:          "0",
		`fitmpi_job_restarts_total`:    "1",
	})
}

// TestBeforeAndAfter: there is something to scrape, if little, before the job begins, and when it
// is over.
func TestBeforeAndAfter(t *testing.T) {
	v := view.New()
	s := &stage{t: t, view: v, h: Handler(v, "x")}
	s.want("before", s.scrape("/metrics"), map[string]string{`fitmpi_ranks{state="joined"}`: "0"})
	if body := s.get("/sd").Body.String(); strings.TrimSpace(body) != "[]" {
		t.Errorf("targets before the job begins: %s", body)
	}
	s = newStage(t, 1)
	s.view.Changed(0, launch.State{Phase: launch.Finalizing})
	s.answer(0, 0, 42)
	s.view.Changed(0, launch.State{Phase: launch.Over})
	s.view.End()
	s.want("after", s.scrape("/metrics"), map[string]string{`fitmpi_driver_turns_total{host="near",rank="0"}`: "42", `fitmpi_ranks{state="over"}`: "1"})
}

// TestSilly: what a rank says of itself does not break the scrape of the others.
func TestSilly(t *testing.T) {
	s := newStage(t, 2)
	s.silence(1)
	s.view.Answered(1, 0, []byte(`{"Counters":{"Ready":{"Bounds":[3,2],"Counts":[1]},"Stats":{},"Collectives":[{"Comm":"\ud800","Op":"x"},{"Comm":"\ud800","Op":"x"}]}}`))
	s.want("rank 1 talks nonsense", s.scrape("/metrics", "X-Prometheus-Scrape-Timeout-Seconds", "0.1"), map[string]string{
		`fitmpi_driver_turns_total{host="near",rank="0"}`:   "1",
		`fitmpi_driver_turns_total{host="me@far",rank="1"}`: "0",
	})
}

// TestDiscovery: a rank that serves its metrics where the asker can reach it is a target of its
// own, the others are here.
func TestDiscovery(t *testing.T) {
	s := newStage(t, 8) // 0-3 here, 4-7 on another machine
	for r, at := range []string{
		0: "", 1: "127.0.0.1:9101", 2: "0.0.0.0:9102", 3: "unix:/run/r3",
		4: "127.0.0.1:9104", 5: "[::]:9105", 6: "10.1.2.3:9106", 7: "10.1.2.3:9107",
	} {
		if at != "" {
			s.view.Reported(r, boot.MetricsKey, at)
		}
		s.view.Reported(r, boot.TransportKey, "a word of something else")
	}
	s.view.Changed(7, launch.State{Phase: launch.Over})
	const here = "fitrun.example:9600"
	for asker, want := range map[string][]string{
		"127.0.0.1:5555":   {here, "127.0.0.1:9101", "127.0.0.1:9102", here, here, "far:9105", "10.1.2.3:9106", here},
		"192.168.7.7:5555": {here, here, "near:9102", here, here, "far:9105", "10.1.2.3:9106", here},
		"@":                {here, here, "near:9102", here, here, "far:9105", "10.1.2.3:9106", here}, // over a Unix socket
	} {
		req := httptest.NewRequest("GET", "http://"+here+"/sd", nil)
		req.RemoteAddr = asker
		w := httptest.NewRecorder()
		s.h.ServeHTTP(w, req)
		var got []targets
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got) != len(want) || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%v: %s", err, w.Body)
		}
		for r, g := range got {
			path := ""
			if want[r] == here {
				path = fmt.Sprintf("/rank/%d/metrics", r)
			}
			if len(g.Targets) != 1 || g.Targets[0] != want[r] || g.Labels["__metrics_path__"] != path || g.Labels["rank"] != strconv.Itoa(r) ||
				g.Labels["job"] != "solver" || g.Labels["host"] != map[bool]string{true: "near", false: "me@far"}[r < 4] {
				t.Errorf("asker %s, rank %d: %v, want %s%s", asker, r, g, want[r], path)
			}
		}
	}
	s.wantAsked("discovery", 0, 0, 0, 0, 0, 0, 0, 0)
}

// TestManyLint: what 64 ranks show is as Prometheus wants it, and goes compressed to a client that
// takes it so.
func TestManyLint(t *testing.T) {
	s := newStage(t, 64)
	w := s.get("/metrics", "Accept-Encoding", "gzip")
	if w.Header().Get("Content-Encoding") != "gzip" {
		t.Fatal("the answer is not compressed")
	}
	size := w.Body.Len()
	z, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(body), "\nfitmpi_rank_up{"); n != 64 {
		t.Errorf("%d ranks are shown, want 64", n)
	}
	problems, err := promlint.New(strings.NewReader(string(body))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	t.Logf("%d bytes, %d compressed", len(body), size)
}

// TestCrowd: more scrapes than there is room for are told so, and those that go on are not
// disturbed.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, 1)
		s.silence(0)
		var wg sync.WaitGroup
		codes := make([]int, mostScrapes)
		for i := range codes {
			wg.Go(func() { codes[i] = s.get("/metrics").Code })
		}
		synctest.Wait() // all of them wait for rank 0
		if w := s.get("/metrics"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("one more scrape: %d, want %d", w.Code, http.StatusServiceUnavailable)
		}
		wg.Wait()
		for _, c := range codes {
			if c != http.StatusOK {
				t.Errorf("a scrape: %d, want %d", c, http.StatusOK)
			}
		}
		if w := s.get("/metrics"); w.Code != http.StatusOK {
			t.Errorf("a scrape when the others are done: %d", w.Code)
		}
	})
}
