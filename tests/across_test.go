//go:build linux

package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/netlab"
)

// Jobs across hosts, as a user runs them: the built fitrun reaches hosts by ssh, and starts the
// ranks there. The hosts are network namespaces, see package netlab.

// acrossBound is how soon a job must end once it cannot go on, on a busy machine. A host that is
// cut off is given up after 20 seconds.
const acrossBound = 90 * time.Second

// fitrunLab is hosts, and a fitrun for them.
type fitrunLab struct {
	*netlab.Lab
	fitrun string // the binary
	self   string // this one, for the ranks
}

func newFitrunLab(t *testing.T) *fitrunLab {
	t.Helper()
	l := &fitrunLab{Lab: netlab.New(t)}
	l.fitrun = fitrunPath(t)
	var err error
	if l.self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	return l
}

// buildProgram builds a package of ours into dir, and returns the program's path.
func buildProgram(t *testing.T, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.Base(pkg))
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", path, module+"/"+pkg).CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", pkg, err, out)
	}
	return path
}

// hostFile writes a file of hosts, and returns its path.
func (l *fitrunLab) hostFile(t *testing.T, lines ...string) string {
	t.Helper()
	f := filepath.Join(t.TempDir(), "hosts")
	if err := os.WriteFile(f, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// acrossJob is what to run.
type acrossJob struct {
	program string       // of programs
	hosts   string       // for -H
	dir     string       // shared by the ranks
	cases   string       // of the suite
	args    []string     // options for fitrun
	command []string     // in place of this binary as a rank: a program of the repository as seen from its root, and arguments
	env     []string     // beside what the test's process has
	from    *netlab.Host // where fitrun runs; nil is this machine
}

// acrossRun is a fitrun that runs.
type acrossRun struct {
	cmd            *exec.Cmd
	stdout, stderr watched
	endc           chan error // closed when it has ended
	began          time.Time
}

// start starts a job.
func (l *fitrunLab) start(t *testing.T, j acrossJob) *acrossRun {
	t.Helper()
	// Not bound: the hosts are one machine, and would each give its ranks the same cores. To its
	// disk each of them writes a copy of fitrun, which takes long if it is busy.
	args := []string{"-l", "--bind-to", "none", "--launch-timeout", "10m", "--ssh-args", strings.Join(l.SSHArgs(), " ")}
	if j.hosts != "" {
		args = append(args, "-H", j.hosts)
	}
	args = append(args, j.args...)
	if j.command == nil {
		args = append(args, l.self, "rank")
	}
	command := exec.Command
	if j.from != nil {
		command = func(name string, args ...string) *exec.Cmd { return j.from.Command(append([]string{name}, args...)...) }
	}
	r := &acrossRun{cmd: command(l.fitrun, append(args, j.command...)...), endc: make(chan error), began: time.Now()}
	if j.command != nil {
		r.cmd.Dir = ".."
	}
	r.stdout.changed, r.stderr.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	r.cmd.Env = append(os.Environ(), envProgram+"="+j.program, envDir+"="+j.dir, envCase+"="+j.cases, envPolicy+"=worker",
		envSeed+"=1", envSeeds+"=1", "GORACE=atexit_sleep_ms=0")
	r.cmd.Env = append(r.cmd.Env, j.env...)
	r.cmd.Stdout, r.cmd.Stderr = &r.stdout, &r.stderr
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a ^C at the tests is ours to pass on
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process, which cleanup kills
		r.cmd.Wait()
		close(r.endc)
	}()
	t.Cleanup(func() {
		r.cmd.Process.Kill()
		<-r.endc
	})
	return r
}

// end waits for the end of the job.
func (r *acrossRun) end(t *testing.T, within time.Duration) jobRun {
	t.Helper()
	select {
	case <-r.endc:
	case <-time.After(within):
		t.Fatalf("the job does not end within %v\n%s%s", within, r.stdout.String(), r.stderr.String())
	}
	return jobRun{r.cmd.ProcessState.ExitCode(), r.stdout.String(), r.stderr.String(), time.Since(r.began)}
}

// run runs a job to its end.
func (l *fitrunLab) run(t *testing.T, j acrossJob) jobRun {
	t.Helper()
	return l.start(t, j).end(t, jobTimeout)
}

// wantClean checks that the job has done what it should.
func (r jobRun) wantClean(t *testing.T) {
	t.Helper()
	if r.code != 0 {
		t.Errorf("code %d\n%s%s", r.code, r.stdout, r.stderr)
	}
}

// wantError checks that the job has failed and what it said, by a regular expression.
func (r jobRun) wantError(t *testing.T, says string) {
	t.Helper()
	if r.code == 0 || !regexp.MustCompile(says).MatchString(r.stderr) {
		t.Errorf("code %d after %v, want an error that matches %q:\n%s%s", r.code, r.took, says, r.stdout, r.stderr)
	}
	if strings.Contains(r.stderr, "panic:") || strings.Contains(r.stderr, "goroutine ") {
		t.Errorf("a rank panics:\n%s", r.stderr)
	}
}

// suite runs cases of the conformance suite.
func (l *fitrunLab) suite(t *testing.T, n int, j acrossJob) {
	t.Helper()
	j.program, j.dir = "suite", t.TempDir()
	run := l.run(t, j)
	o := newOutcomes(n)
	for r := range n {
		readEvents(t, o, j.dir, r)
	}
	var err error
	if run.code != 0 {
		err = fmt.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	}
	o.tell(t, err)
	t.Logf("%d ranks, %v", n, run.took.Round(time.Millisecond))
}

// Cases of the suite that are run across hosts. Random programs are left out: they are for their
// own time limits.
const (
	allCases  = "^([^r]|re)"
	someCases = "^(order|mode|probe|collective|object)/"
)

// few is the cases to run where all take too long.
func few(level effort.Level, cases string) string {
	if level < effort.Night || raceEnabled {
		return "^(order|collective)/"
	}
	return cases
}

// TestAcross: several hosts in one network.
func TestAcross(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs across hosts by ssh")
	l, level := newFitrunLab(t), effort.Now()
	n := l.Network()
	for range 4 {
		n.Host()
	}
	addr := func(i int) string { return l.Hosts()[i].Addr() }
	three := fmt.Sprintf("%s:2,%s:2,%s:1", addr(0), addr(1), addr(2))
	for _, tc := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"suite", func(t *testing.T) { l.suite(t, 5, acrossJob{hosts: three, cases: few(level, allCases)}) }},
		{"suite by TLS", func(t *testing.T) {
			l.suite(t, 5, acrossJob{hosts: three, cases: few(level, someCases), args: []string{"--tls"}})
		}},
		{"suite by threads", func(t *testing.T) {
			l.suite(t, 5, acrossJob{hosts: three, cases: few(level, someCases), args: []string{"--ranks-per-process", "2"}})
		}},
		{"with this machine", func(t *testing.T) {
			l.suite(t, 3, acrossJob{hosts: fmt.Sprintf("localhost:1,%s:2", addr(0)), cases: few(level, someCases)})
		}},
		{"slow", func(t *testing.T) { acrossSlow(t, l) }},
		{"lossy", func(t *testing.T) { acrossLossy(t, l) }},
		{"host killed", func(t *testing.T) { acrossKilled(t, l) }},
		{"hosts lost", func(t *testing.T) { acrossLost(t, l) }},
		{"ranks cut off", func(t *testing.T) { acrossRanksCutOff(t, l) }},
		{"traced", func(t *testing.T) { acrossTraced(t, l) }},
		{"many ranks", func(t *testing.T) { acrossMany(t, l) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			switch tc.name {
			case "with this machine", "host killed":
			case "suite by TLS", "suite by threads":
				effort.Need(t, effort.Night, "it runs the suite once more")
			default:
				effort.Need(t, effort.Full, "it runs the suite, starts many ranks, or waits for a network that is slow or gone")
			}
			tc.test(t)
			l.AwaitEmpty(t, acrossBound)
		})
	}
}

// One host has a link of 20 Mbit/s: everything takes longer, and is right.
func acrossSlow(t *testing.T, l *fitrunLab) {
	h := l.Hosts()[1]
	defer h.Slow("20mbit")()
	run := l.run(t, acrossJob{program: "exchange", hosts: fmt.Sprintf("%s:2,%s:1", l.Hosts()[0].Addr(), h.Addr())})
	run.wantClean(t)
	t.Logf("%v\n%s", run.took, run.stdout)
	l.suite(t, 3, acrossJob{hosts: fmt.Sprintf("%s:2,%s:1", l.Hosts()[0].Addr(), h.Addr()), cases: "^collective/(blocks|vectors)"})
}

// Two in a hundred packets are lost on their way to either host, also those of the launch. No
// message is.
func acrossLossy(t *testing.T, l *fitrunLab) {
	var dropped []func() int
	for _, h := range l.Hosts()[:2] {
		dropped = append(dropped, h.Lossy(2))
	}
	hosts := fmt.Sprintf("%s:2,%s:1", l.Hosts()[0].Addr(), l.Hosts()[1].Addr())
	run := l.run(t, acrossJob{program: "exchange", hosts: hosts})
	l.suite(t, 3, acrossJob{hosts: hosts, cases: "^collective/(blocks|vectors)"})
	for _, n := range dropped {
		if n := n(); n == 0 {
			t.Error("no packet was dropped: that shows nothing")
		} else {
			t.Logf("%d packets were dropped", n)
		}
	}
	run.wantClean(t)
	t.Logf("%v\n%s", run.took, run.stdout)
}

// Everything on a host is killed while ranks exchange messages: its ranks, its agent, its sshd.
func acrossKilled(t *testing.T, l *fitrunLab) {
	n := len(l.Hosts())
	h := l.Hosts()[n-1]
	r := l.start(t, acrossJob{program: "rounds", hosts: fmt.Sprintf("%s:2,%s:2", l.Hosts()[0].Addr(), h.Addr())})
	r.stdout.await(t, "[0] going")
	h.Kill()
	killed := time.Now()
	run := r.end(t, acrossBound)
	t.Logf("ended %v after it, with code %d and:\n%s", time.Since(killed).Round(time.Millisecond), run.code, run.stderr)
	run.wantError(t, regexp.QuoteMeta(h.Addr())+`(: .*)?; with it ranks 2-3; the job was ended`)
	h.Serve()
}

// 64 ranks on 4 hosts.
func acrossMany(t *testing.T, l *fitrunLab) {
	var hosts []string
	n := 64
	if raceEnabled {
		n = 16
	}
	for _, h := range l.Hosts()[:4] {
		hosts = append(hosts, fmt.Sprintf("%s:%d", h.Addr(), n/4))
	}
	run := l.run(t, acrossJob{program: "crowd of hosts", hosts: strings.Join(hosts, ",")})
	run.wantClean(t)
	if want := fmt.Sprintf("[0] %d ranks", n); !strings.Contains(run.stdout, want) || run.stderr != "" {
		t.Errorf("want %q:\n%s%s", want, run.stdout, run.stderr)
	}
	t.Logf("in all %v: %s", run.took.Round(time.Millisecond), strings.TrimSpace(run.stdout))
}
