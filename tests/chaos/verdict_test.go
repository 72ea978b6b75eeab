//go:build linux

package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// verdict says how a run ended: "" in bad is well.
type verdict struct {
	outcome string // success, right error
	bad     []string
}

func (v *verdict) failf(format string, args ...any) {
	v.bad = append(v.bad, fmt.Sprintf(format, args...))
}

// classify compares how a run ended with how it may end.
func (r *run) classify() verdict {
	v := verdict{outcome: "right error"}
	if r.code == 0 {
		v.outcome = "success"
	}
	ends := r.control.lasts(r.plan.ranks)
	for q, e := range ends {
		if e != nil && e.Wrong {
			v.failf("rank %d: %s", q, e.Error)
		}
	}
	if r.hung != "" {
		v.failf("%s", r.hung)
	}
	for _, l := range r.leftBehind {
		v.failf("left behind: %s", l)
	}
	r.control.mu.Lock()
	v.bad = append(v.bad, r.control.lives.bad...)
	r.control.mu.Unlock()
	for _, err := range r.control.faults {
		v.failf("the harness: %v", err)
	}
	if !r.orphaned {
		r.classifyEnd(&v, ends)
	}
	return v
}

// classifyEnd checks the exit code of fitrun and what the ranks say.
func (r *run) classifyEnd(v *verdict, ends []*report) {
	codes := r.codes()
	if !slices.Contains(codes, r.code) {
		v.failf("fitrun's exit code is %d, want one of %v", r.code, codes)
	}
	if r.code == 0 {
		r.classifySuccess(v, ends)
		return
	}
	if !strings.Contains(r.out, "fitrun: ") && len(r.plan.outputs) == 0 {
		v.failf("fitrun says nothing")
	}
	for q, e := range ends {
		switch {
		case r.killed[q], r.frozen[q], r.plan.def, r.plan.starves():
		case e == nil && !r.endedByNeighbour(q, ends):
			v.failf("rank %d ended without a word", q)
		case e != nil && e.Error != "" && !slices.Contains(rightErrors, e.Class):
			v.failf("rank %d has an error of a wrong class, %s: %s", q, e.Class, e.Error)
		}
	}
}

// endedByNeighbour reports whether another rank of the same process has said that it ends with an
// error, which ends all of them.
func (r *run) endedByNeighbour(rank int, ends []*report) bool {
	for q, e := range ends {
		if q != rank && q/r.plan.perProcess == rank/r.plan.perProcess && e != nil && e.Error != "" {
			return true
		}
	}
	return false
}

// rightErrors are the classes of errors with which ranks learn of the failure of others, and of the
// end of the job.
var rightErrors = []string{"ErrProcFailed", "ErrProcFailedPending", "ErrRevoked", "ErrProcAborted", "ending"}

// codes are the exit codes that fitrun may have.
func (r *run) codes() []int {
	switch fails := r.broken && r.plan.mode == plain; {
	case r.plan.starves():
		return []int{0, 1, 2, 3, 137}
	case r.plan.mode.recovered(), r.plan.mode == restarts:
		return []int{0}
	case fails && len(r.killed) > 0:
		return []int{0, 1, 137}
	case r.hostLost, r.silenced && len(r.killed) > 0: // it is fitrun's own verdict
		return []int{1, 137}
	case fails:
		return []int{0, 1}
	case len(r.killed) > 0:
		return []int{137}
	default:
		return []int{0}
	}
}

// classifySuccess: every rank that was not killed says that all is well, and as much was received
// as was sent. Of each connection that is cut in a job that leaves others behind one end may be
// lost.
func (r *run) classifySuccess(v *verdict, ends []*report) {
	var sent, received uint64
	lost, most := 0, 0
	if r.plan.mode == recovers {
		most = r.cuts
	}
	for q, e := range ends {
		switch {
		case r.killed[q]:
		case e == nil && lost < most:
			lost++
		case e == nil || !e.Done:
			v.failf("fitrun's exit code is 0, but rank %d says %+v", q, e)
		case r.plan.mode.recovered() && e.Left < r.plan.ranks-len(r.killed)-most:
			v.failf("rank %d went on with %d ranks, but %d live", q, e.Left, r.plan.ranks-len(r.killed)-most)
		case r.plan.mode == restarts && r.deaths > 0 && e.Restarts == 0:
			v.failf("rank %d says that the job was not started again, but ranks were killed", q)
		default:
			sent += e.Sent
			received += e.Received
		}
	}
	if r.plan.mode == restarts {
		if _, err := os.Stat(r.store()); err == nil {
			v.failf("left behind: checkpoints in %s", r.store())
		}
	}
	if sent != received && len(r.killed)+most == 0 {
		v.failf("%d messages were sent and %d received", sent, received)
	}
	if sent == 0 {
		v.failf("no message was sent")
	}
}

// things are what a run may leave on the machine.
type things struct {
	shm []string // of /dev/shm
}

func thingsOf(*run) things {
	shm, _ := filepath.Glob("/dev/shm/*")
	return things{shm}
}

// processes are those that have the mark of a run in their environment.
func (things) processes(mark string) []int {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var pids []int
	for _, d := range dirs {
		b, err := os.ReadFile(filepath.Join(d, "environ"))
		if err == nil && strings.Contains(string(b), envMark+"="+mark) {
			if pid, err := strconv.Atoi(filepath.Base(d)); err == nil && pid != os.Getpid() {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// leftovers waits until nothing is left of the run, and says what is.
func (r *run) leftovers() (left []string) {
	for end := time.Now().Add(r.plan.left); ; time.Sleep(20 * time.Millisecond) {
		left = nil
		for _, pid := range r.before.processes(r.mark) {
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			left = append(left, fmt.Sprintf("process %d: %s", pid, strings.ReplaceAll(string(line), "\x00", " ")))
		}
		for _, dir := range []string{"tmp", "run"} {
			filepath.WalkDir(filepath.Join(r.dir, dir), func(path string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					left = append(left, "file "+path)
				}
				return nil
			})
			if names, _ := os.ReadDir(filepath.Join(r.dir, dir)); len(names) > 0 && left == nil {
				left = append(left, fmt.Sprintf("directories in %s: %v", dir, names))
			}
		}
		for _, s := range thingsOf(r).shm {
			if !slices.Contains(r.before.shm, s) && strings.Contains(s, "fitmpi") {
				left = append(left, s)
			}
		}
		if left == nil || time.Now().After(end) {
			return left
		}
	}
}
