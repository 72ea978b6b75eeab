//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// What happens to the others when a rank dies: with ErrorsReturn they learn of it, promptly and in
// every call that needs the dead rank; by default the job ends, with one message.

const (
	envDeath = "FITMPI_TESTS_DEATH" // how the victim dies
	envWait  = "FITMPI_TESTS_WAIT"  // what the others wait in
)

func init() {
	programs["survive"] = surviveRank
	programs["collect"] = collectRank
	programs["victim"] = victimRank
}

// victim is the rank that dies.
const victim = 1

// deaths are the ways to die, and the exit codes that they give.
var deaths = map[string]struct {
	die  func(c *mpi.Comm)
	code int
}{
	"exit 0":  {func(*mpi.Comm) { os.Exit(0) }, 0},
	"exit 3":  {func(*mpi.Comm) { os.Exit(3) }, 3},
	"panic":   {func(*mpi.Comm) { panic("boom") }, 2},
	"killed":  {func(*mpi.Comm) { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }, 137},
	"crashed": {func(*mpi.Comm) { go panic("in a goroutine"); select {} }, 2},
}

// deadline is how soon survivors must know: before heartbeats would tell them, which take a minute,
// however busy the machine is.
const deadline = 30 * time.Second

// surviveRank: every rank waits for the victim in every call there is, at once, in goroutines.
func surviveRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		d, err := c.Dup(nil)
		if err != nil {
			return err
		}
		// Posted before the failure. What any rank might answer fails too, for the dead rank
		// cannot.
		wild := mpi.Irecv(d, make([]int, 1), mpi.AnySource, mpi.AnyTag)
		if err := mpi.Barrier(c); err != nil {
			return err
		}
		if c.Rank() == victim {
			time.Sleep(10 * time.Millisecond) // most of the others wait by now; those that do not yet are as right
			deaths[os.Getenv(envDeath)].die(c)
		}
		calls := waitingCalls(c)
		calls["Wait of a wildcard"] = func() error { return second(wild.Wait()) }
		calls["Recv from anybody"] = func() error { return second(mpi.Recv(d, make([]int, 1), mpi.AnySource, mpi.AnyTag)) }
		calls["Probe of anybody"] = func() error { return second(mpi.Probe(d, mpi.AnySource, 77)) }
		expectFailure("", calls)
		expectFailure("later ", calls) // what starts now fails at once
		if err := meetSurvivors(c); err != nil {
			fmt.Println("survivors cannot talk:", err)
		}
		os.Exit(0)
		return nil
	})
}

// expectFailure runs all calls at once; those that still wait after half of the deadline end the
// rank.
func expectFailure(when string, calls map[string]func() error) {
	var wg sync.WaitGroup
	for what, f := range calls {
		late := time.AfterFunc(deadline/2, func() {
			fmt.Println(when + what + " still waits")
			time.Sleep(100 * time.Millisecond) // for the others to say so
			os.Exit(1)
		})
		wg.Go(func() {
			complain(when+what, f())
			late.Stop()
		})
	}
	wg.Wait()
}

func complain(what string, err error) {
	class := mpi.ErrProcFailed
	if strings.HasSuffix(what, "Wait of a wildcard") {
		class = mpi.ErrProcFailedPending
	}
	if strings.HasSuffix(what, "segments") && os.Getenv(envDeath) == "panic" && strings.Contains(err.Error(), "has found an error in its part") {
		return // before it died
	}
	if !errors.Is(err, class) || !strings.Contains(err.Error(), fmt.Sprintf("world rank %d", victim)) {
		fmt.Printf("%s: %v, want an error of class %v that names world rank %d\n", what, err, class, victim)
	}
}

func waitingCalls(c *mpi.Comm) map[string]func() error {
	big := make([]int64, 1<<20)
	return map[string]func() error{
		"Recv":       func() error { return second(mpi.Recv(c, make([]int, 1), victim, 1)) },
		"RecvNew":    func() error { _, _, err := mpi.RecvNew[string](c, victim, 2); return err },
		"Probe":      func() error { return second(mpi.Probe(c, victim, 3)) },
		"Mprobe":     func() error { _, _, err := mpi.Mprobe(c, victim, 3); return err },
		"Ssend":      func() error { return mpi.Ssend(c, []int{1}, victim, 4) },
		"Send large": func() error { return mpi.Send(c, make([]int64, 4<<20), victim, 4) },
		"Issend":     func() error { return second(mpi.Issend(c, big, victim, 4).Wait()) },
		"Sendrecv":   func() error { return second(mpi.Sendrecv(c, []int{1}, victim, 4, make([]int, 1), victim, 5)) },
		"WaitAll": func() error {
			return second(mpi.WaitAll(mpi.Irecv(c, make([]int, 1), victim, 6), mpi.Isend(c, big, victim, 7)))
		},
		"WaitAny": func() error {
			_, _, err := mpi.WaitAny(mpi.Irecv(c, make([]int, 1), victim, 6), mpi.Irecv(c, make([]int, 1), victim, 7))
			return err
		},
		"Test": func() error {
			r := mpi.Irecv(c, make([]int, 1), victim, 8)
			for {
				if _, done, err := r.Test(); done {
					return err
				}
				time.Sleep(time.Millisecond)
			}
		},
	}
}

// meetSurvivors: every survivor sends every survivor a message.
func meetSurvivors(c *mpi.Comm) error {
	const tag = 99
	var rs []*mpi.Request
	for r := range c.Size() {
		if r != victim {
			rs = append(rs, mpi.Irecv(c, make([]int64, 9000), r, tag), mpi.Isend(c, make([]int64, 9000), r, tag))
		}
	}
	return second(mpi.WaitAll(rs...))
}

// collectRank: two ranks in a collective, one of which dies: before it, or in the middle of a long
// reduction.
func collectRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		c.SetErrhandler(mpi.ErrorsReturn)
		in, out := make([]int, 8), make([]int, 8)
		const long = 1 << 19
		combined := 0
		layout, fatal := mpi.Vector(long, 1, 2, mpi.TypeOf[int]()), func(acc, in []int) {
			if combined++; combined == 5 && c.Rank() == victim {
				deaths[os.Getenv(envDeath)].die(c)
			}
			mpi.Sum(acc, in)
		}
		calls := map[string]func(c *mpi.Comm) error{
			"Barrier":   mpi.Barrier,
			"Bcast":     func(c *mpi.Comm) error { return mpi.Bcast(c, in, victim) },
			"Allreduce": func(c *mpi.Comm) error { return mpi.Allreduce(c, in, out, mpi.Sum) },
			"segments": func(c *mpi.Comm) error {
				return mpi.Allreduce(c.WithType(layout), make([]int, 2*long), make([]int, 2*long), fatal)
			},
			"objects":    func(c *mpi.Comm) error { return mpi.Allreduce(c, []string{"a"}, []string{""}, mpi.Sum) },
			"Gather":     func(c *mpi.Comm) error { return mpi.Gather(c, in[:4], out, 0) },
			"Alltoall":   func(c *mpi.Comm) error { return mpi.Alltoall(c, in, out) },
			"Iallgather": func(c *mpi.Comm) error { return second(mpi.Iallgather(c, in[:4], out).Wait()) },
			"Dup":        func(c *mpi.Comm) error { return second(c.Split(0, 0)) },
		}
		comms := map[string]*mpi.Comm{}
		for _, what := range []string{"Barrier", "Bcast", "Allreduce", "objects", "Gather", "Alltoall", "Iallgather", "Dup", "segments"} {
			var err error
			if comms[what], err = c.Dup(nil); err != nil {
				return err
			}
		}
		if c.Rank() == victim {
			time.Sleep(10 * time.Millisecond)
			calls["segments"](comms["segments"]) // a panic of the operation is an error of the reduction
			deaths[os.Getenv(envDeath)].die(c)
		}
		bound := map[string]func() error{}
		for what, f := range calls {
			bound[what] = func() error { return f(comms[what]) }
		}
		expectFailure("", bound)
		os.Exit(0)
		return nil
	})
}

// victimRank: the others wait with the default error handler.
func victimRank() {
	mpi.Main(func(_ context.Context, c *mpi.Comm) error {
		if err := mpi.Barrier(c); err != nil {
			return err
		}
		if c.Rank() == victim {
			switch how := os.Getenv(envDeath); how {
			case "error":
				return errors.New("the matrix is singular")
			case "abort":
				c.Abort(7, "the matrix is singular")
			case "fatal":
				return mpi.Send(c, []int{1}, c.Size(), 0)
			default:
				deaths[how].die(c)
			}
		}
		switch os.Getenv(envWait) {
		case "Recv":
			return second(mpi.Recv(c, make([]int, 1), victim, 0))
		case "another":
			return second(mpi.Recv(c, make([]int, 1), (c.Rank()+1)%c.Size(), 0))
		case "compute":
			for {
				time.Sleep(time.Hour)
			}
		case "Finalize":
			return nil
		default:
			return mpi.Barrier(c)
		}
	})
}

// tolerantJob starts ranks as a launcher does that lets survivors live, and returns what each
// wrote, and its exit code.
func tolerantJob(t *testing.T, program string, n int, policy string, set ...string) (outs []string, codes []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	job, secret := boot.NewJob()
	links, cmds, bufs := make([]*boot.Link, n), make([]*exec.Cmd, n), make([]buffer, n)
	for r := range n {
		conn, theirs := socketPair(t)
		cmds[r] = exec.CommandContext(ctx, self)
		cmds[r].Env = append(os.Environ(), append(set, envProgram+"="+program, "FITMPI_PROGRESS="+policy,
			boot.FDVariable+"=3", "GOMAXPROCS=3", "GOTRACEBACK=single")...)
		cmds[r].Stdout, cmds[r].Stderr, cmds[r].ExtraFiles = &bufs[r], &bufs[r], []*os.File{theirs}
		if err := cmds[r].Start(); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		links[r] = boot.NewLink(conn, boot.Info{
			Rank: r, Size: n, LocalRank: r, LocalSize: n, Job: job, Secret: secret, Source: "test", Host: "here", Cores: 1,
		})
	}
	var wg sync.WaitGroup
	dealCards(t, links, &wg)
	codes, outs = make([]int, n), make([]string, n)
	for r, cmd := range cmds {
		cmd.Wait()
		if codes[r] = cmd.ProcessState.ExitCode(); codes[r] < 0 {
			codes[r] = 128 + int(cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
		}
		outs[r] = bufs[r].String()
	}
	for _, l := range links {
		l.Close()
	}
	wg.Wait()
	if ctx.Err() != nil {
		t.Errorf("ranks still waited after %v", deadline)
	}
	return outs, codes
}

func socketPair(t *testing.T) (ours net.Conn, theirs *os.File) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fds[0]), "ours")
	defer f.Close()
	if ours, err = net.FileConn(f); err != nil {
		t.Fatal(err)
	}
	return ours, os.NewFile(uintptr(fds[1]), "theirs")
}

// dealCards plays the launcher until the ranks end.
func dealCards(t *testing.T, links []*boot.Link, wg *sync.WaitGroup) {
	cards := boot.NewCards(len(links))
	var mu sync.Mutex
	for r, l := range links {
		wg.Go(func() {
			for {
				n, err := l.Next()
				if err != nil {
					return
				}
				if n.Kind != boot.CardGiven {
					continue
				}
				mu.Lock()
				if err := cards.Put(r, n.Card); err != nil {
					t.Error(err)
				}
				if cards.IsComplete() {
					for _, l := range links {
						l.SendCards(cards)
					}
				}
				mu.Unlock()
			}
		})
	}
}

func TestSurvivors(t *testing.T) {
	t.Parallel()
	for how, d := range deaths {
		for _, policy := range policies {
			if policy != "assist" && how != "killed" && how != "exit 0" {
				continue
			}
			if (isHurried() || testing.Short()) && how != "killed" && (how != "panic" || policy != "assist") {
				continue // to the others it is one thing how a process ends
			}
			t.Run(how+"/"+policy, func(t *testing.T) {
				t.Parallel() // survivors wait for most of their time
				outs, codes := tolerantJob(t, "survive", 3, policy, envDeath+"="+how)
				checkSurvivors(t, outs, codes, d.code)
				outs, codes = tolerantJob(t, "collect", 2, policy, envDeath+"="+how)
				checkSurvivors(t, outs, codes, d.code)
			})
		}
	}
}

func checkSurvivors(t *testing.T, outs []string, codes []int, code int) {
	t.Helper()
	for r := range outs {
		switch {
		case r == victim && codes[r] != code:
			t.Errorf("the victim ended with code %d, want %d\n%s", codes[r], code, outs[r])
		case r != victim && (codes[r] != 0 || outs[r] != ""):
			t.Errorf("survivor %d ended with code %d and wrote:\n%s", r, codes[r], outs[r])
		}
	}
}

// TestDeathEndsJob: by default a failure ends the job, whatever the others are doing, with one
// message of the launcher's.
func TestDeathEndsJob(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	for _, test := range []struct {
		how, wait string
		code      int
		says      string // in the one message
	}{
		{"exit 0", "Recv", 1, "rank 1"},
		{"exit 3", "Recv", 3, "rank 1"},
		{"exit 3", "compute", 3, "rank 1"},
		{"killed", "Recv", 137, "rank 1"},
		{"killed", "Barrier", 137, "rank 1"},
		{"killed", "another", 137, "rank 1"},
		{"exit 0", "Finalize", 1, "rank 1"},
		{"exit 3", "Finalize", 3, "rank 1"},
		{"killed", "Finalize", 137, "rank 1"},
		{"panic", "Barrier", 2, "rank 1 panicked: boom"},
		{"crashed", "Recv", 2, "rank 1"},
		{"error", "Recv", 1, "rank 1: the matrix is singular"},
		{"abort", "compute", 7, "the matrix is singular"},
		{"fatal", "Recv", 1, "destination 3: need 0 to 2, or ProcNull"},
	} {
		for _, policy := range []string{"assist", "caller"} {
			t.Run(test.how+"/"+test.wait+"/"+policy, func(t *testing.T) {
				run := runJob(t, "victim", 3, policy, t.TempDir(), envDeath+"="+test.how, envWait+"="+test.wait)
				if run.code != test.code {
					t.Errorf("the job's code is %d, want %d", run.code, test.code)
				}
				if run.took > deadline {
					t.Errorf("the job took %v to end", run.took)
				}
				if n := strings.Count(run.stderr, "fitrun: "); n != 1 || !strings.Contains(run.stderr, test.says) {
					t.Errorf("%d messages, want one that says %q:\n%s", n, test.says, run.stderr)
				}
				if t.Failed() || testing.Verbose() {
					t.Logf("after %v, code %s:\n%s", run.took, strconv.Itoa(run.code), run.stderr)
				}
			})
		}
	}
}
