//go:build linux

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// The jobs of the suite: real processes, started by the launcher's library. What jobs may differ in
// is a table of factors. The product of all would take days, so the jobs are a covering array:
// every value of a factor meets every value of every other one in some job, if the two make sense
// together. Most faults need no third value to show; the product of the factors that matter most is
// for the night.

// factor is one respect in which jobs differ.
type factor struct {
	name   string
	values []string
}

// The factors, by their places in a job.
const (
	byRanks    = iota // where ranks are: one process each, all in one, two in each, three in each of a host that is taken for two
	byNet             // what they may use
	byPolicy          // FITMPI_PROGRESS
	bySize            // how many they are
	byLook            // how the suite is looked at
	byPatience        // FITMPI_SPIN: as by default, or as where every rank has a core
	byCopy            // FITMPI_SHM_COPY: how long messages go between processes
)

var factors = [...]factor{
	byRanks:    {"ranks", []string{"processes", "threads", "pairs", "hosts"}},
	byNet:      {"net", []string{"local", "tcp", "tls"}},
	byPolicy:   {"policy", []string{"assist", "worker", "caller"}},
	bySize:     {"size", []string{"3", "2", "5", "4", "1"}},
	byLook:     {"look", []string{"plain", "checked", "observed", "segments"}},
	byPatience: {"patience", []string{"usual", "spin"}},
	byCopy:     {"copy", []string{"auto", "ring", "read"}},
}

// job is a value of each factor.
type job [len(factors)]string

func (j job) String() string { return strings.Join(j[:], " ") }

func (j job) size() int { return int(j[bySize][0] - '0') }

func (j job) perProcess() int {
	return map[string]int{"processes": 1, "threads": j.size(), "pairs": 2, "hosts": 3}[j[byRanks]]
}

// makesSense reports whether a job is one of its own: what has no effect in it is the first of its
// values.
func (j job) makesSense() bool {
	isLocal := j[byNet] == "local"
	switch {
	case j[byRanks] == "hosts" && (!isLocal || j.size() < 4), j[byRanks] == "pairs" && j.size() < 3:
		return false
	case j[byCopy] != "auto" && (!isLocal || j[byRanks] == "threads" || j.size() < 2): // no long message between processes
		return false
	case j.size() == 1 && (j[byRanks] == "threads" || j[byLook] == "observed" || j[byLook] == "segments"):
		return false
	}
	return true
}

// env is what the environment of the job's ranks has beside the usual.
func (j job) env() []string {
	env := []string{"FITMPI_SHM_COPY=" + j[byCopy]}
	switch {
	case j[byNet] == "tls":
		env = append(env, "FITMPI_TRANSPORT=tcp", "FITMPI_TLS=1")
	case j[byNet] == "tcp":
		env = append(env, "FITMPI_TRANSPORT=tcp")
		if j.size() == 4 { // each has several connections, and hands for their long messages
			env = append(env, "FITMPI_WORKERS=3")
		}
	case j[byRanks] == "hosts":
		env = append(env, "FITMPI_CLIQUES=2")
	}
	switch j[byLook] {
	case "checked":
		env = append(env, envCheck+"=1")
	case "observed":
		env = append(env, envTold+"=1")
	case "segments":
		env = append(env, envSegments+"=1", "FITMPI_COLL="+shortSegments[1:])
	}
	if j[byPatience] == "spin" {
		env = append(env, "FITMPI_SPIN=200us")
	}
	return env
}

// allJobs are the jobs that make sense, in the order of the factors' values.
func allJobs() []job {
	jobs := []job{{}}
	for i, f := range factors {
		var longer []job
		for _, j := range jobs {
			for _, v := range f.values {
				j[i] = v
				longer = append(longer, j)
			}
		}
		jobs = longer
	}
	return slices.DeleteFunc(jobs, func(j job) bool { return !j.makesSense() })
}

// pairsOf calls f for every two values of a job.
func (j job) pairsOf(f func(pair string)) {
	for a := range j {
		for b := range a {
			f(fmt.Sprint(factors[b].name, " ", j[b], " and ", factors[a].name, " ", j[a]))
		}
	}
}

// covering chooses from jobs, one after the other that which has the most pairs of values that none
// before it has.
func covering(jobs []job) (chosen []job) {
	open := map[string]bool{}
	pairs := make([][]string, len(jobs))
	for i, j := range jobs {
		j.pairsOf(func(pair string) {
			pairs[i] = append(pairs[i], pair)
			open[pair] = true
		})
	}
	for len(open) > 0 {
		best, most := 0, 0
		for i := range jobs {
			n := 0
			for _, pair := range pairs[i] {
				if open[pair] {
					n++
				}
			}
			if n > most {
				best, most = i, n
			}
		}
		for _, pair := range pairs[best] {
			delete(open, pair)
		}
		chosen = append(chosen, jobs[best])
	}
	return chosen
}

// nightJobs are the product of the first four factors, each with other values of the rest.
func nightJobs() []job {
	var jobs []job
	of := map[string]int{} // how many of these four there are so far
	for _, j := range allJobs() {
		key := fmt.Sprint(j[:byLook])
		if i := of[key]; i == len(of)%7 {
			jobs = append(jobs, j)
		}
		of[key]++
	}
	return jobs
}

// jobsAt are the jobs of a level, and in how many of them each case runs once.
func jobsAt(level effort.Level) (jobs []job, turns int) {
	jobs = covering(allJobs())
	switch {
	case isHurried():
		return jobs[:4], 8
	case raceEnabled:
		return jobs[:8], 4
	case level == effort.Short:
		return jobs[:3], 12
	case level == effort.Usual:
		return jobs[:12], 24 // half of the cases, in those jobs that have most of the pairs
	case level < effort.Night:
		return jobs, 24
	}
	return nightJobs(), 1
}

// TestSuite runs the suite in the jobs of this run.
func TestSuite(t *testing.T) {
	t.Parallel()
	jobs, turns := jobsAt(effort.Now())
	for i, j := range jobs {
		t.Run(j.String(), func(t *testing.T) {
			t.Parallel() // each leaves a part of two cores idle
			env := j.env()
			if effort.Now() == effort.Night {
				env = append(env, envDear+"=1")
			}
			if turns > 1 && *caseFlag == "" {
				env = append(env, fmt.Sprintf("%s=%d/%d", envTurn, i%turns, turns))
			}
			if j[byLook] != "observed" {
				suiteByProgram(t, "suite", j, t.TempDir(), env...)
				return
			}
			dir := t.TempDir()
			suiteByProgram(t, "observed suite", j, dir, env...)
			compareLogs(t, readLogs(t, dir, j.size()))
		})
	}
}

// suiteByProgram runs the suite by a program that is, or does, what suiteRank does.
func suiteByProgram(t *testing.T, program string, j job, dir string, env ...string) {
	run := mixedJob(t, program, j.size(), j.perProcess(), j[byPolicy], dir, env...)
	tellSuite(t, run, j.size(), dir)
}

// tellSuite makes subtests of what the ranks of a job have written of their cases.
func tellSuite(t *testing.T, run jobRun, n int, dir string) {
	o := newOutcomes(n)
	for r := range n {
		readEvents(t, o, dir, r)
	}
	var err error
	if run.code != 0 {
		err = fmt.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	} else if s := strings.TrimSpace(run.stdout + run.stderr); s != "" {
		t.Errorf("the job wrote:\n%s", s)
	}
	o.tell(t, err)
}

// readLogs reads what the tools of a job of n ranks have saved.
func readLogs(t *testing.T, dir string, n int) []*messageLog {
	logs := make([]*messageLog, n)
	for r := range logs {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprint("log", r)))
		if err == nil {
			err = json.Unmarshal(b, &logs[r])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return logs
}

// Every two values that make sense together meet in some job, and few jobs are needed for that.
func TestJobsCoverPairs(t *testing.T) {
	jobs, met := covering(allJobs()), map[string]bool{}
	for _, j := range jobs {
		j.pairsOf(func(pair string) { met[pair] = true })
		t.Log(j)
	}
	for _, j := range allJobs() {
		j.pairsOf(func(pair string) {
			if !met[pair] {
				t.Errorf("%s never meet", pair)
				met[pair] = true
			}
		})
	}
	usual, _ := jobsAt(effort.Usual)
	for i, f := range factors {
		for _, value := range f.values {
			if !slices.ContainsFunc(usual, func(j job) bool { return j[i] == value }) && !raceEnabled {
				t.Errorf("no job of the usual ones has %s %s", f.name, value)
			}
		}
	}
	for _, level := range []effort.Level{effort.Full, effort.Night} {
		if jobs, turns := jobsAt(level); len(jobs) < turns && !raceEnabled {
			t.Errorf("%v: %d jobs leave out some of %d turns", level, len(jobs), turns)
		}
	}
	if n := len(allJobs()); len(jobs)*20 > n {
		t.Errorf("%d jobs to cover the pairs of %d", len(jobs), n)
	}
	if n := len(nightJobs()); n < 50 {
		t.Errorf("%d jobs for the night", n)
	}
}

// In as many jobs as there are turns every case runs on every kind of communicator that those jobs
// have.
func TestTurns(t *testing.T) {
	for turns := 1; turns < 8; turns++ {
		for i := range 20 {
			n := 0
			for turn := range turns {
				t.Setenv(envTurn, fmt.Sprintf("%d/%d", turn, turns))
				if isInTurn(i) {
					n++
				}
			}
			if n != 1 {
				t.Errorf("case %d runs in %d of %d turns", i, n, turns)
			}
		}
	}
}
