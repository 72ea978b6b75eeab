//go:build linux

package tests

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
	"github.com/fitmpi/fitmpi/mpi"
)

// Whichever process dies first, and whenever: nothing is left of a job. Each scene is a job of real
// processes that is brought to a stage, and then something is done to it. Afterwards no process,
// socket, memory or file of it may be there. Processes are found by a mark in their environment,
// which the test gives to fitrun, so that they cannot get out of sight by sessions or parents of
// their own.

func init() { programs["leftover"] = leftoverRank }

const (
	envMark     = "FITMPI_TESTS_MARK"
	envStage    = "FITMPI_TESTS_STAGE"
	envFlavours = "FITMPI_TESTS_FLAVOURS"
	envScenes   = "FITMPI_TESTS_SCENES" // "all": every combination, for the nightly script
)

// leftoverWithin is how soon nothing may be left, on a busy machine too; mostly it is a moment.
const leftoverWithin = 30 * time.Second

// scene is a job, how far it is, and what is done to it.
type scene struct{ flavour, stage, deed string }

// Stages, each with the ranks that are there.
var stages = []string{
	"start",    // no rank has called Init
	"exchange", // one has not, the others wait in it
	"compute",  // all compute, and call nothing of MPI
	"wait",     // all wait in a receive
	"finalize", // all but one wait in Finalize
}

// deeds by name: what the test does when the ranks are at the stage.
var deeds = map[string]func(j *leftoverJob){
	"rank aborts":        func(j *leftoverJob) { j.kill(syscall.SIGUSR1, j.ranks[1]) },
	"rank SIGKILL":       func(j *leftoverJob) { j.kill(syscall.SIGKILL, j.ranks[1]) },
	"rank SIGSEGV":       func(j *leftoverJob) { j.kill(syscall.SIGSEGV, j.ranks[1]) },
	"rank SIGABRT":       func(j *leftoverJob) { j.kill(syscall.SIGABRT, j.ranks[1]) },
	"rank SIGTERM":       func(j *leftoverJob) { j.kill(syscall.SIGTERM, j.ranks[1]) },
	"all ranks":          func(j *leftoverJob) { j.kill(syscall.SIGKILL, j.ranks...) },
	"fitrun":             func(j *leftoverJob) { j.kill(syscall.SIGKILL, j.cmd.Process.Pid) },
	"fitrun SIGTERM":     func(j *leftoverJob) { j.kill(syscall.SIGTERM, j.cmd.Process.Pid) },
	"guard, then fitrun": (*leftoverJob).guardFirst,
	"guard and fitrun":   (*leftoverJob).bothAtOnce,
	"agent":              func(j *leftoverJob) { j.kill(syscall.SIGKILL, j.named("agent")...) },
	"connection":         func(j *leftoverJob) { j.kill(syscall.SIGKILL, j.named("cat")...) },
	"fitrun, hosts":      func(j *leftoverJob) { j.kill(syscall.SIGKILL, j.cmd.Process.Pid) },
	"all that is fitrun": func(j *leftoverJob) { j.kill(syscall.SIGKILL, j.named("fitrun")...) },
}

// Flavours of the ranks, joined by "+".
const (
	stubborn = "stubborn" // they ignore SIGTERM
	wrapped  = "wrapped"  // a shell is their parent
	parents  = "parents"  // each has a child, and one in a session of its own
)

func leftoverRank() {
	flavours := os.Getenv(envFlavours)
	if strings.Contains(flavours, stubborn) {
		signal.Ignore(syscall.SIGTERM)
	}
	if strings.Contains(flavours, parents) {
		for _, apart := range []bool{false, true} {
			cmd := exec.Command("sleep", "1000")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: apart}
			if err := cmd.Start(); err != nil {
				panic(err)
			}
		}
	}
	dir, stage := os.Getenv(envDir), os.Getenv(envStage)
	ready := func() {
		name := filepath.Join(dir, strconv.Itoa(os.Getpid()))
		if os.WriteFile(name+".new", nil, 0o600) != nil || os.Rename(name+".new", name+".ready") != nil {
			os.Exit(9)
		}
	}
	first := func(what string) bool { // whether this process is the first here
		f, err := os.OpenFile(filepath.Join(dir, what), os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			f.Close()
		}
		return err == nil
	}
	compute := func() {
		for {
			time.Sleep(time.Hour)
		}
	}
	if stage == "start" || stage == "exchange" && first("late") {
		ready()
		compute()
	}
	if stage == "exchange" {
		ready()
	}
	world, err := mpi.Init()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if !strings.Contains(flavours, stubborn) {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGUSR1)
		go func() { // ends with the process
			<-asked
			world.Abort(7, "the test wants it")
		}()
	}
	if err := mpi.Barrier(world); err != nil {
		os.Exit(1)
	}
	last := stage == "finalize" && world.Rank() == 0
	ready()
	switch {
	case stage == "wait":
		mpi.Recv(world, make([]int, 1), mpi.AnySource, 0) // by the default error handler the end of the job is that of the process
	case stage == "finalize" && !last:
		if mpi.Finalize() != nil {
			os.Exit(1)
		}
		return
	}
	compute()
}

// leftoverJob is a job of a scene.
type leftoverJob struct {
	t     *testing.T
	cmd   *exec.Cmd
	mark  string
	dir   string
	ranks []int // their processes
	out   buffer

	files   []string // that its processes have open and that have no name: memory and sockets, as /proc shows them
	sockets map[string]bool
}

// startLeftover starts the job of a scene and brings it to the stage.
func startLeftover(t *testing.T, s scene, n int) *leftoverJob {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	j := &leftoverJob{t: t, mark: envMark + "=" + rand.Text(), dir: t.TempDir()}
	args := []string{"-n", strconv.Itoa(n)}
	env := append(os.Environ(), j.mark, envProgram+"=leftover", envDir+"="+j.dir, envStage+"="+s.stage, envFlavours+"="+s.flavour)
	if s.deed == "agent" || s.deed == "connection" || s.deed == "fitrun, hosts" {
		ssh := filepath.Join(t.TempDir(), "ssh")
		const script = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\nexport HOME=\"$XDG_CACHE_HOME\"\ncat | sh -c \"$*\" | cat\n"
		executable.Write(t, ssh, script)
		env = append(env, "FITMPI_SSH="+ssh, "XDG_CACHE_HOME="+t.TempDir())
		args = append(args, "-H", fmt.Sprintf("a:%d,localhost:1", n-1), "--iface", "127.0.0.1")
		for _, name := range []string{envProgram, envDir, envStage, envFlavours} {
			args = append(args, "-x", name)
		}
	}
	temp := filepath.Join(j.dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	env = append(env, "TMPDIR="+temp)
	if strings.Contains(s.flavour, wrapped) {
		args = append(args, "sh", "-c", `"$0"; exit $?`)
	}
	j.cmd = exec.Command(fitrunPath(t), append(args, self)...)
	j.cmd.Env, j.cmd.Stdout, j.cmd.Stderr = env, &j.out, &j.out
	j.cmd.WaitDelay = leftoverWithin
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // whatever came of it
		for _, pid := range sys.ProcessesWith([]string{j.mark}) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	j.await(n)
	return j
}

// until polls for what other processes bring about.
func (j *leftoverJob) until(what string, within time.Duration, met func() bool) bool {
	j.t.Helper()
	for end := time.Now().Add(within); !met(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			j.t.Errorf("waited %v for %s; the job said:\n%s", within, what, j.out.String())
			return false
		}
	}
	return true
}

// await waits until n ranks are at the stage, and notes what they hold.
func (j *leftoverJob) await(n int) {
	j.t.Helper()
	var ready []string
	if !j.until("the ranks", 2*failsafe, func() bool {
		ready, _ = filepath.Glob(filepath.Join(j.dir, "*.ready"))
		return len(ready) == n
	}) {
		j.t.FailNow()
	}
	for _, r := range ready {
		pid, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(r), ".ready"))
		if err != nil {
			j.t.Fatal(err)
		}
		j.ranks = append(j.ranks, pid)
		os.Remove(r)
	}
	os.Remove(filepath.Join(j.dir, "late"))
	j.sockets = make(map[string]bool)
	for _, pid := range sys.ProcessesWith([]string{j.mark}) {
		for _, held := range heldBy(pid) {
			if id, ok := strings.CutPrefix(held, "socket:["); ok {
				j.sockets[strings.TrimSuffix(id, "]")] = true
			} else {
				j.files = append(j.files, held)
			}
		}
	}
}

// heldBy is what a process has open of memory (with its inode) and sockets.
func heldBy(pid int) (held []string) {
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		to, err := os.Readlink(fd)
		if err != nil {
			continue
		}
		switch {
		case strings.HasPrefix(to, "socket:["):
			held = append(held, to)
		case strings.HasPrefix(to, "/memfd:"):
			var st syscall.Stat_t
			if syscall.Stat(fd, &st) == nil {
				held = append(held, fmt.Sprintf("%s %d:%d", to, st.Dev, st.Ino))
			}
		}
	}
	return held
}

func (j *leftoverJob) kill(sig syscall.Signal, pids ...int) {
	j.t.Helper()
	if len(pids) == 0 {
		j.t.Error("nobody is there to be killed")
	}
	for _, pid := range pids {
		syscall.Kill(pid, sig)
	}
}

// named are the processes of the job by what they are: "guard", "agent", "cat", or "fitrun", which
// is all that has the word in its command.
func (j *leftoverJob) named(what string) (pids []int) {
	for _, pid := range sys.ProcessesWith([]string{j.mark}) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue
		}
		args := strings.Split(string(text), "\x00")
		base := filepath.Base(args[0])
		switch {
		case what == "guard" && base == "fitmpi-guard", what == "cat" && base == "cat",
			what == "agent" && base == "fitrun" && slices.Contains(args, "agent"),
			what == "fitrun" && bytes.Contains(text, []byte("fitrun")):
			pids = append(pids, pid)
		}
	}
	return pids
}

// guardFirst kills the guard, and fitrun when it has another.
func (j *leftoverJob) guardFirst() {
	old := j.named("guard")
	j.kill(syscall.SIGKILL, old...)
	j.until("another guard", deadline, func() bool {
		now := j.named("guard")
		return len(now) > 0 && !slices.Contains(now, old[0])
	})
	// The other guard knows what there is when its pipe is empty, which only itself can say; what
	// it does not know yet is in the pipe.
	j.kill(syscall.SIGKILL, j.cmd.Process.Pid)
}

// bothAtOnce kills fitrun and its guard so that neither sees the other's end.
func (j *leftoverJob) bothAtOnce() {
	both := append(j.named("guard"), j.cmd.Process.Pid)
	j.kill(syscall.SIGSTOP, both...)
	j.kill(syscall.SIGKILL, both...)
}

// end waits for fitrun, and checks that nothing is left.
func (j *leftoverJob) end() {
	j.t.Helper()
	over := make(chan error, 1)
	go func() { over <- j.cmd.Wait() }() // ends with fitrun, or WaitDelay after it
	select {
	case err := <-over:
		if err == nil {
			j.t.Errorf("fitrun says that all is well:\n%s", j.out.String())
		}
	case <-time.After(2 * leftoverWithin):
		j.t.Errorf("fitrun still runs after %v:\n%s", 2*leftoverWithin, j.out.String())
		j.cmd.Process.Kill()
		<-over
	}
	var left []string
	// A process that has just died holds for a moment more what it had.
	for end := time.Now().Add(leftoverWithin); ; time.Sleep(5 * time.Millisecond) {
		left = slices.Concat(j.processes(), j.held(), j.liveSockets(), j.names())
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			break
		}
	}
	j.t.Errorf("%v after its end this is left of the job:\n  %s\nit said:\n%s", leftoverWithin, strings.Join(left, "\n  "), j.out.String())
}

// processes are those that are there now.
func (j *leftoverJob) processes() (left []string) {
	for _, pid := range sys.ProcessesWith([]string{j.mark}) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		left = append(left, fmt.Sprintf("process %d: %s", pid, strings.ReplaceAll(string(text), "\x00", " ")))
	}
	return left
}

// held is the memory of the job that some process has open.
func (j *leftoverJob) held() (left []string) {
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		pid, _ := strconv.Atoi(filepath.Base(p))
		for _, held := range heldBy(pid) {
			if slices.Contains(j.files, held) {
				left = append(left, fmt.Sprintf("process %d has %s", pid, held))
			}
		}
	}
	return left
}

// liveSockets are those of the job's that the kernel knows: listening, connected, or with a name.
func (j *leftoverJob) liveSockets() (left []string) {
	for name, column := range map[string]int{"tcp": 9, "tcp6": 9, "unix": 6} {
		text, _ := os.ReadFile("/proc/net/" + name)
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > column && j.sockets[f[column]] {
				left = append(left, name+" socket: "+strings.TrimSpace(line))
			}
		}
	}
	return left
}

// names are the files of the job: TMPDIR is its own.
func (j *leftoverJob) names() (left []string) {
	filepath.WalkDir(j.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != j.dir && path != filepath.Join(j.dir, "tmp") {
			left = append(left, path)
		}
		return nil
	})
	return left
}

func (s scene) play(t *testing.T) {
	j := startLeftover(t, s, 3)
	deeds[s.deed](j)
	j.end()
}

// quickScenes are played always: each deed, each stage and each flavour.
var quickScenes = []scene{
	{"", "compute", "rank aborts"},
	{"", "start", "rank SIGKILL"},
	{wrapped, "exchange", "rank SIGSEGV"},
	{stubborn, "compute", "rank SIGABRT"},
	{parents, "wait", "rank SIGTERM"},
	{"", "finalize", "all ranks"},
	{stubborn + "+" + wrapped + "+" + parents, "compute", "fitrun"},
	{parents, "exchange", "all that is fitrun"},
	{parents, "compute", "guard, then fitrun"},
	{wrapped, "compute", "guard and fitrun"},
	{"", "exchange", "guard and fitrun"},
	{parents, "compute", "agent"},
	{"", "wait", "connection"},
	{parents, "finalize", "fitrun, hosts"},
}

// allScenes are all that there are.
func allScenes() (all []scene) {
	for _, flavour := range []string{"", stubborn, wrapped, parents, stubborn + "+" + wrapped + "+" + parents} {
		for _, stage := range stages {
			for _, deed := range deedNames() {
				if s := (scene{flavour, stage, deed}); s.isSound() {
					all = append(all, s)
				}
			}
		}
	}
	return all
}

func deedNames() (names []string) {
	for name := range deeds {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// isSound reports whether a scene makes sense, and whether nothing is to be left of it. If fitrun
// and its guard are killed at one moment, the kernel ends the ranks, or the end of their connection
// does. No process is there that could end processes that the ranks have started, nor ranks whose
// parent is a shell and that have not called Init (docs/LAUNCH.md says so).
func (s scene) isSound() bool {
	hasStarted := s.stage != "start"
	switch s.deed {
	case "rank aborts":
		return s.stage == "compute" && !strings.Contains(s.flavour, stubborn)
	case "rank SIGTERM": // to one that ignores it nothing happens
		return !strings.Contains(s.flavour, stubborn)
	case "guard and fitrun":
		return !strings.Contains(s.flavour, parents) && (hasStarted && s.stage != "exchange" || !strings.Contains(s.flavour, wrapped))
	}
	return true
}

// TestNothingIsLeft plays the quick scenes, or all of them with FITMPI_TESTS_SCENES=all.
func TestNothingIsLeft(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	if isHurried() {
		t.Skip("in a hurry: fitrun and its guard are built without the detector, and the ranks do nothing")
	}
	scenes := quickScenes
	if os.Getenv(envScenes) == "all" {
		scenes = allScenes()
	}
	for _, s := range scenes {
		t.Run(strings.ReplaceAll(fmt.Sprintf("%s/%s/%s", s.flavour, s.stage, s.deed), " ", "_"), s.play)
	}
}
