//go:build linux

package chaos

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	startBound = 60 * time.Second // plan.start
	endBound   = 30 * time.Second // plan.bound
	leftBound  = 10 * time.Second // plan.left
)

// run is one job under faults.
type run struct {
	plan       plan
	bug        string // a planted one
	dir        string // of the run: everything that it writes
	disk       string // a full disk; "" if there is none
	mark       string // in the environment of every process of the run
	control    *control
	cmd        *exec.Cmd
	donec      chan struct{} // closed when fitrun has ended
	laters     sync.WaitGroup
	agents     []*exec.Cmd    // that listen
	readers    sync.WaitGroup // of what these say, until they end
	agentsMu   sync.Mutex
	ice        sync.Map     // processes that are stopped for good
	agentsSaid bytes.Buffer // guarded by agentsMu
	before     things       // of the machine

	// What has happened. Owned by the goroutine of the test.
	applied    []fault
	killed     map[int]bool // ranks
	frozen     map[int]bool
	broken     bool // a connection
	cuts       int  // how many connections
	lives      int  // how often the job was started again, as far as faults want that
	deaths     int  // of which it was
	hostLost   bool // as fitrun sees it
	silenced   bool // a rank was stopped for good, for heartbeats to find
	orphaned   bool // fitrun was killed
	started    bool // all ranks were at work
	hung       string
	ended      time.Duration // from the last fault to the end
	code       int
	out        string // what fitrun and the ranks wrote
	leftBehind []string
}

// runPlan runs a plan to its end.
func runPlan(t *testing.T, p plan, bug string, epochs int) *run {
	t.Helper()
	r := &run{plan: p, bug: bug, donec: make(chan struct{}), killed: map[int]bool{}, frozen: map[int]bool{}}
	r.prepare(t)
	defer os.RemoveAll(r.dir)
	defer r.release()
	defer r.control.close()
	r.before = thingsOf(r)
	r.start(t, epochs)
	r.started = r.control.awaitRunning(p.ranks, p.start)
	for _, f := range p.faults {
		if !r.pause(f.after) {
			break
		}
		if f.kind.apply(r, f) {
			r.applied = append(r.applied, f)
			r.awaitNextLife(f)
		}
	}
	if epochs > 0 {
		r.pause(p.bound) // it ends by itself
	}
	r.finish()
	return r
}

// awaitNextLife waits until a job that was ended by a fault is at work again. A connection that is
// cut later may not end it yet.
func (r *run) awaitNextLife(f fault) {
	if r.plan.mode == restarts && f.kind.effect != harmless {
		r.lives++
		r.control.awaitLife(r.plan.ranks, r.lives, r.plan.bound/2)
	}
}

// prepare makes the directories of a run, and its control.
func (r *run) prepare(t *testing.T) {
	t.Helper()
	var err error
	if r.dir, err = os.MkdirTemp("", "chaos-"); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"tmp", "run", "out"} {
		if err := os.Mkdir(filepath.Join(r.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.mark = filepath.Base(r.dir)
	switch disk := filepath.Join(r.dir, "disk"); {
	case len(r.plan.outputs) > 0:
		r.disk = smallDisk(t, disk, 16<<10)
		if err := os.WriteFile(filepath.Join(disk, "filler"), bytes.Repeat([]byte{1}, 12<<10), 0o600); err != nil {
			t.Fatal(err)
		}
	case r.plan.fullStore:
		r.disk = smallDisk(t, disk, storeRoom)
	}
	if r.control, err = newControl(filepath.Join(r.dir, "socket"), r.plan.proxied()); err != nil {
		t.Fatal(err)
	}
}

// release gives back what the test has taken for the run.
func (r *run) release() {
	r.endAgents()
	if r.disk != "" {
		syscall.Unmount(r.disk, syscall.MNT_DETACH)
	}
}

// args is the command line of the job.
func (r *run) args(t *testing.T, hosts []string) []string {
	p := &r.plan
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{fitrunPath(t), "-n", fmt.Sprint(p.ranks), "--ranks-per-process", fmt.Sprint(p.perProcess),
		"--progress", p.policy, "--transport", p.transport, "--bind-to", "none"}
	if p.tls {
		args = append(args, "--tls")
	}
	if p.mode.recovered() {
		args = append(args, "--with-ft")
	}
	if p.mode == restarts {
		args = append(args, "--restart", fmt.Sprint(p.again), "--restart-dir", r.store())
	}
	args = append(args, hosts...)
	for _, o := range p.outputs {
		args = append(args, o, filepath.Join(r.disk, strings.Trim(o, "-")))
	}
	if p.fitrunFiles > 0 {
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, p.fitrunFiles), "sh"}, args...)
	}
	return append(args, "--", self)
}

// start starts fitrun. What all processes write goes into a file, so that nothing waits for a
// process that is left behind.
func (r *run) start(t *testing.T, epochs int) {
	t.Helper()
	p := &r.plan
	o, err := json.Marshal(orders{
		Socket: filepath.Join(r.dir, "socket"), Seed: p.seed, Scale: p.scale, Recover: p.mode.recovered(), Restart: p.mode == restarts, Default: p.def,
		Files: p.files, Bug: r.bug, BugBy: p.ranks - 1, Proxied: p.proxied(), Epochs: epochs,
		PerProcess: p.perProcess, Every: p.soak / soakSamples, FullStore: p.fullStore,
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(r.dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	fitrunPath(t)
	hosts, env := r.hostArgs(t, r.env(string(o)))
	args := r.args(t, hosts)
	r.cmd = exec.Command(args[0], args[1:]...)
	r.cmd.Env, r.cmd.Stdout, r.cmd.Stderr = append(os.Environ(), env...), out, out
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		r.cmd.Wait()
		close(r.donec)
		r.control.fitrunOver()
	}()
}

// env is what the run has in its environment beside ours.
func (r *run) env(orders string) []string {
	p := &r.plan
	env := []string{envOrders + "=" + orders, envMark + "=" + r.mark, "TMPDIR=" + filepath.Join(r.dir, "tmp"),
		"XDG_RUNTIME_DIR=" + filepath.Join(r.dir, "run"), "XDG_CACHE_HOME=" + filepath.Join(fitrunDir, "cache"), "GOTRACEBACK=all"}
	if p.mode.resumed() {
		env = append(env, "FITMPI_RESUME=on", "FITMPI_RECONNECT="+reconnect.String())
	} else {
		env = append(env, "FITMPI_RESUME=off") // between hosts they would
	}
	switch {
	case p.heartbeat > 0:
		env = append(env, "FITMPI_HEARTBEAT_TIMEOUT="+p.heartbeat.String())
	case p.tls: // damage has an end within the bound
		env = append(env, "FITMPI_HEARTBEAT_TIMEOUT="+silence.String())
	}
	if p.starves() {
		env = append(env, "FITMPI_CONNECT_TIMEOUT="+(p.bound/4).String()) // a rank that has no descriptor does not answer
	}
	return env
}

// store is where the job keeps its checkpoints.
func (r *run) store() string { return filepath.Join(cmp.Or(r.disk, r.dir), "checkpoints") }

// reconnect is for how long ranks that resume try to reach each other: longer than any fault lasts.
const reconnect = 20 * time.Second

// pause waits; false says that fitrun has ended meanwhile.
func (r *run) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-r.donec:
		return false
	}
}

// finish lets the job end, if it has not, and looks at what is left.
func (r *run) finish() {
	began := time.Now()
	r.laters.Wait()
	r.control.stop()
	if !r.pause(r.plan.bound) {
		r.ended = time.Since(began)
	} else {
		r.hung = r.interrogate()
	}
	r.control.await(r.plan.left, func() bool { // processes of which fitrun knows nothing any more
		for _, s := range r.control.ranks {
			if !s.gone {
				return false
			}
		}
		return true
	})
	<-r.donec
	r.code = r.cmd.ProcessState.ExitCode()
	r.endAgents()
	b, _ := os.ReadFile(filepath.Join(r.dir, "output"))
	r.out = string(b) + r.agentsSaid.String()
	r.leftBehind = r.leftovers()
}

// interrogate asks processes that should have ended what they do, and ends them.
func (r *run) interrogate() string {
	var b strings.Builder
	fmt.Fprintf(&b, "not over %v after the last fault; processes: %v", r.plan.bound, r.before.processes(r.mark))
	ask := func(pid int) {
		syscall.Kill(pid, syscall.SIGCONT)
		syscall.Kill(pid, syscall.SIGQUIT)
	}
	for q := range r.plan.ranks { // before what brings us their words
		if pid := r.control.pid(q); pid != 0 {
			ask(pid)
		}
	}
	r.pause(time.Second)
	for _, pid := range r.before.processes(r.mark) {
		ask(pid)
	}
	if r.pause(2 * time.Second) {
		for _, pid := range r.before.processes(r.mark) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return b.String()
}

// kill kills the process of a rank, and with it the other ranks there.
func (r *run) kill(rank int) bool {
	pid := r.control.pid(rank)
	if pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		return false
	}
	for q := range r.plan.ranks {
		if q/r.plan.perProcess == rank/r.plan.perProcess {
			r.dies(q)
		}
	}
	return true
}

// dies notes that a rank has died, or will, for good.
func (r *run) dies(rank int) {
	if r.deaths++; r.plan.mode != restarts {
		r.killed[rank] = true
	}
}

// freeze stops the process of a rank for good.
func (r *run) freeze(rank int) bool {
	pid := r.control.pid(rank)
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	r.ice.Store(pid, true)
	for q := range r.plan.ranks {
		switch {
		case q/r.plan.perProcess != rank/r.plan.perProcess:
		case r.plan.heartbeat > 0: // by which it is found, and killed
			r.silenced = true
			r.dies(q)
		default:
			r.frozen[q] = true
		}
	}
	return true
}

// stop stops a process for a time.
func (r *run) stop(pid int, d time.Duration) bool {
	if pid == 0 || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	r.later(d, func() {
		if _, forGood := r.ice.Load(pid); !forGood {
			syscall.Kill(pid, syscall.SIGCONT)
		}
	})
	return true
}

// breakLine does something to a connection after which its ends do not hear each other any more, at
// once or later.
func (r *run) breakLine(x *line, do func()) bool {
	if x.broken.Swap(true) {
		return false
	}
	r.broken = true
	r.cuts++
	do()
	return true
}

// later does something some time later, before the run ends.
func (r *run) later(d time.Duration, do func()) {
	r.laters.Go(func() {
		time.Sleep(d)
		do()
	})
}

// smallDisk mounts a file system of so many bytes.
func smallDisk(t *testing.T, path string, bytes int) string {
	t.Helper()
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", path, "tmpfs", 0, fmt.Sprintf("size=%d,nr_inodes=64", bytes)); err != nil {
		t.Skipf("no full disk: %v", err)
	}
	return path
}
