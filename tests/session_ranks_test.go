//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
	"github.com/fitmpi/fitmpi/mpi"
)

// Programs of real processes that use sessions: without Init or Main, around them and beside them.

func init() {
	for name, f := range map[string]func() error{
		"sessions": sessionsOnly, "sessions around": sessionsAround, "session left open": sessionLeftOpen, "sessions and death": sessionsAndDeath,
		"session, message left": sessionMessageLeft,
		"sessions of apps":      sessionsOfApps, "sessions, one early": sessionsOneEarly, "session after finalize": sessionAfterFinalize,
	} {
		programs[name] = func() { exitOn(f()) }
	}
	programs["sessions in main"] = func() { mpi.Main(sessionsInMain) }
}

// exitOn ends a rank that is not in mpi.Main if there is an error.
func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// inSession runs f with a communicator of all ranks in a session of its own.
func inSession(ctx context.Context, pset, text string, f func(s *mpi.Session, c *mpi.Comm) error) error {
	s, err := mpi.SessionInit(ctx, nil, mpi.ErrorsReturn)
	if err != nil {
		return err
	}
	g, err := s.GroupFromPset(pset)
	if err != nil {
		return err
	}
	c, err := mpi.CommCreateFromGroup(g, text, nil, mpi.ErrorsReturn)
	if err != nil {
		return err
	}
	if err := f(s, c); err != nil {
		return err
	}
	return s.Finalize()
}

// sessionsOnly is a program that knows neither Init nor Main, whose ranks rest and wake, each as
// often as it likes.
func sessionsOnly() error {
	ctx := context.Background()
	if mpi.Initialized() {
		return errors.New("initialized at the start")
	}
	rank := 0
	for round := range 3 {
		err := inSession(ctx, mpi.PsetWorld, "round", func(_ *mpi.Session, c *mpi.Comm) error {
			rank = c.Rank()
			return exchangeAll(c)
		})
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	for range rank + 1 { // no other rank needs to do the same
		err := inSession(ctx, mpi.PsetSelf, "alone", func(_ *mpi.Session, c *mpi.Comm) error { return exchangeAll(c) })
		if err != nil {
			return fmt.Errorf("alone: %w", err)
		}
	}
	err := inSession(ctx, mpi.PsetWorld, "last", func(_ *mpi.Session, c *mpi.Comm) error { return exchangeAll(c) })
	if err != nil {
		return fmt.Errorf("last: %w", err)
	}
	if mpi.Initialized() || mpi.Finalized() {
		return errors.New("sessions have initialized the world")
	}
	fmt.Printf("rank %d is done\n", rank)
	return nil
}

// sessionsAround has a session before Init, one that is open while the world comes and goes, and
// one after Finalize.
func sessionsAround() error {
	ctx := context.Background()
	exchange := func(_ *mpi.Session, c *mpi.Comm) error { return exchangeAll(c) }
	if err := inSession(ctx, mpi.PsetWorld, "before", exchange); err != nil {
		return fmt.Errorf("before: %w", err)
	}
	err := inSession(ctx, mpi.PsetWorld, "around", func(_ *mpi.Session, c *mpi.Comm) error {
		world, err := mpi.Init()
		if err != nil {
			return err
		}
		if !mpi.Initialized() || mpi.Finalized() {
			return errors.New("not initialized by Init")
		}
		if err := errors.Join(exchangeAll(world), exchangeAll(c), mpi.Finalize()); err != nil {
			return err
		}
		world.SetErrhandler(mpi.ErrorsReturn)
		if err := mpi.Barrier(world); !errors.Is(err, mpi.ErrOther) || !strings.Contains(err.Error(), "MPI is finalized") {
			return fmt.Errorf("Barrier after Finalize: %v", err)
		}
		return exchangeAll(c)
	})
	if err != nil {
		return fmt.Errorf("around: %w", err)
	}
	if err := inSession(ctx, mpi.PsetWorld, "after", exchange); err != nil {
		return fmt.Errorf("after: %w", err)
	}
	if !mpi.Initialized() || !mpi.Finalized() {
		return errors.New("the world is forgotten")
	}
	fmt.Println("done")
	return nil
}

// sessionMessageLeft leaves a message that rank 1 does not receive.
func sessionMessageLeft() error {
	err := inSession(context.Background(), mpi.PsetWorld, "left", func(_ *mpi.Session, c *mpi.Comm) error {
		switch c.Rank() {
		case 0:
			return errors.Join(mpi.Send(c, []int32{1}, 1, 7), mpi.Send(c, []int32{2}, 1, 8))
		case 1: // the first is here when the second is
			_, err := mpi.Recv(c, []int32{0}, 0, 8)
			return err
		}
		return nil
	})
	if errors.Is(err, mpi.ErrOther) {
		fmt.Println(err)
		return nil
	}
	return err
}

// sessionLeftOpen exits with code 0 and an open session, in rank 1.
func sessionLeftOpen() error {
	return inSession(context.Background(), mpi.PsetWorld, "open", func(_ *mpi.Session, c *mpi.Comm) error {
		if c.Rank() == 1 {
			os.Exit(0)
		}
		return mpi.Barrier(c)
	})
}

// sessionsAndDeath goes on in sessions after rank 1 has died, in a job that tolerates that.
func sessionsAndDeath() error {
	err := inSession(context.Background(), mpi.PsetWorld, "mortal", func(_ *mpi.Session, c *mpi.Comm) error {
		if c.Rank() == 1 {
			for range c.Size() - 1 { // all have the communicator
				if _, err := mpi.Recv(c, []int{0}, mpi.AnySource, 1); err != nil {
					return err
				}
			}
			c.Die()
		}
		if err := mpi.Send(c, []int{0}, 1, 1); err != nil && !errors.Is(err, mpi.ErrProcFailed) && !errors.Is(err, mpi.ErrRevoked) {
			return err
		}
		_, err := mpi.Recv(c, []int{0}, 1, 0)
		if !errors.Is(err, mpi.ErrProcFailed) && !errors.Is(err, mpi.ErrRevoked) { // by which rank was faster
			return fmt.Errorf("receive from a dead rank: %v", err)
		}
		if err := c.Revoke(); err != nil {
			return err
		}
		living, err := c.Shrink()
		if err != nil {
			return err
		}
		return exchangeAll(living)
	})
	if err == nil {
		fmt.Println("survived")
	}
	return err
}

// sessionsOneEarly: rank 0 finalizes its session, and exits, before rank 1 has received what it has
// sent.
func sessionsOneEarly() error {
	const long = 50_000
	return inSession(context.Background(), mpi.PsetWorld, "early", func(s *mpi.Session, c *mpi.Comm) error {
		gone := filepath.Join(os.Getenv(envDir), "gone")
		switch c.Rank() {
		case 0:
			out := []int64{7}
			if err := errors.Join(s.AttachBuffer(mpi.BufferAutomatic), mpi.Bsend(c, out, 1, 1), mpi.Send(c, out, 1, 2)); err != nil {
				return err
			}
			return errors.Join(s.Finalize(), os.WriteFile(gone, nil, 0o600), exitNow())
		case 1:
			for { // inside calls, which let the engine make progress under every policy
				if _, ok, err := mpi.Iprobe(c, 1, 3); ok || err != nil {
					return fmt.Errorf("a message that nobody sends: %v, %v", ok, err)
				}
				if _, err := os.Stat(gone); err == nil {
					break
				}
			}
			in := make([]int64, long)
			for _, tag := range []int{2, 1} {
				if _, err := mpi.Recv(c, in, 0, tag); err != nil || in[0] != 7 {
					return fmt.Errorf("tag %d: %v, %d", tag, err, in[0])
				}
			}
			fmt.Println("both are here")
		}
		return nil
	})
}

// exitNow ends the process without a word.
func exitNow() error {
	os.Exit(0)
	return nil
}

// sessionsOfApps tells which process sets there are in a job of two programs.
func sessionsOfApps() error {
	app := "fitmpi://app/" + os.Getenv("FITMPI_TESTS_APP")
	return inSession(context.Background(), app, "app", func(s *mpi.Session, c *mpi.Comm) error {
		n, err := s.NumPsets()
		if err != nil {
			return err
		}
		last, err := s.NthPset(n - 1)
		if err != nil {
			return err
		}
		info := mpi.InfoCreate()
		info.Set("mpi_pset_name", app)
		all, err := s.GroupFromPset(mpi.PsetWorld)
		if err != nil {
			return err
		}
		world, err := mpi.CommCreateFromGroup(all, "all", nil, mpi.ErrorsReturn)
		if err != nil {
			return err
		}
		part, err := world.SplitType(mpi.SplitResourceGuided, 0, info)
		if err != nil {
			return err
		}
		fmt.Printf("%s: rank %d of %d, in the world %d, split %d\n", last, c.Rank(), c.Size(), all.Rank(), part.Size())
		return exchangeAll(c)
	})
}

// sessionAfterFinalize tries to open a session though the rank has used none before Finalize.
func sessionAfterFinalize() error {
	if _, err := mpi.Init(); err != nil {
		return err
	}
	if err := mpi.Finalize(); err != nil {
		return err
	}
	_, err := mpi.SessionInit(context.Background(), nil, mpi.ErrorsReturn)
	if !errors.Is(err, mpi.ErrSession) || !strings.Contains(err.Error(), "before Finalize") {
		return fmt.Errorf("a session after all is closed: %v", err)
	}
	fmt.Println("refused")
	return nil
}

// sessionsInMain uses sessions beside the world, in processes of several ranks.
func sessionsInMain(ctx context.Context, world *mpi.Comm) error {
	for range 2 {
		err := inSession(ctx, mpi.PsetWorld, "main", func(_ *mpi.Session, c *mpi.Comm) error {
			if c.Rank() != world.Rank() {
				return fmt.Errorf("rank %d of the world is rank %d of the session", world.Rank(), c.Rank())
			}
			return errors.Join(exchangeAll(c), exchangeAll(world))
		})
		if err != nil {
			return err
		}
	}
	if world.Rank() < 2 { // of a process of two ranks
		if _, err := mpi.SessionInit(context.Background(), nil, mpi.ErrorsReturn); !errors.Is(err, mpi.ErrSession) {
			return fmt.Errorf("a session of nobody: %v", err)
		}
	}
	fmt.Println("done")
	return nil
}

// MPI 4.1, section 11.3: "The Sessions Model" needs no world: a program opens and finalizes
// sessions, many times.
func TestSessionsOnly(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		n      int
		policy string
		set    []string
	}{
		{1, "assist", nil}, {3, "worker", nil}, {3, "assist", nil}, {3, "caller", nil},
		{3, "assist", []string{"FITMPI_TRANSPORT=tcp"}}, {2, "worker", []string{"FITMPI_TRANSPORT=tcp", "FITMPI_RESUME=on"}},
		{3, "caller", []string{"FITMPI_TRANSPORT=tcp"}},
	} {
		for program, want := range map[string]string{"sessions": "is done\n", "sessions around": "done\n"} {
			if testing.Short() && program != "sessions" && how.policy != "assist" {
				continue
			}
			t.Run(fmt.Sprint(program, how), func(t *testing.T) {
				run := runJob(t, program, how.n, how.policy, t.TempDir(), how.set...)
				if run.code != 0 || run.stderr != "" || strings.Count(run.stdout, want) != how.n {
					t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
				}
				t.Log(run.took)
			})
		}
	}
}

// TestSessionsOneEarly: a rank that finalizes its last session may exit. What it has sent is there,
// and nothing takes its end for a failure.
func TestSessionsOneEarly(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs of sessions; TestSessionsOnly is one")
	t.Parallel()
	for _, policy := range policies {
		for _, set := range []string{"FITMPI_TRANSPORT=auto", "FITMPI_TRANSPORT=tcp"} {
			run := runJob(t, "sessions, one early", 3, policy, t.TempDir(), set)
			if run.code != 0 || run.stderr != "" || !strings.Contains(run.stdout, "both are here") {
				t.Errorf("%s, %s: code %d\n%s%s", policy, set, run.code, run.stdout, run.stderr)
			}
		}
	}
}

// fitrun takes an exit with code 0 and an open session for what it is.
func TestSessionLeftOpen(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs of sessions; TestSessionsOnly is one")
	t.Parallel()
	run := runJob(t, "session left open", 2, "assist", t.TempDir())
	if want := "exited with code 0 without mpi.Finalize, or with a session open"; run.code == 0 || !strings.Contains(run.stderr, want) {
		t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	}
}

// TestSessionMessageLeft: with --check the end of a rank's last session tells of messages that were
// never received, as Finalize does, and holds up no other rank.
func TestSessionMessageLeft(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs of sessions; TestSessionsOnly is one")
	t.Parallel()
	for _, policy := range policies {
		for _, set := range []string{"FITMPI_TRANSPORT=auto", "FITMPI_TRANSPORT=tcp"} {
			run := runJob(t, "session, message left", 3, policy, t.TempDir(), set, "FITMPI_CHECK=1")
			const want = "1 message was never received: 4 bytes of int32 from world rank 0 with tag 7"
			if run.code != 0 || run.stderr != "" || strings.Count(run.stdout, want) != 1 || !strings.Contains(run.stdout, "on rank 1") {
				t.Errorf("%s, %s: code %d\n%s%s", policy, set, run.code, run.stdout, run.stderr)
			}
			if run := runJob(t, "session, message left", 3, policy, t.TempDir(), set); run.code != 0 || run.stdout+run.stderr != "" {
				t.Errorf("%s, %s, unchecked: code %d\n%s%s", policy, set, run.code, run.stdout, run.stderr)
			}
		}
	}
}

// TestSessionsTwice: a shell that runs two programs as one rank is told that the first was the
// rank, and is idle: the second does not wait for what the first has been given.
func TestSessionsTwice(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs of sessions; TestSessionsOnly is one")
	t.Parallel()
	script := filepath.Join(t.TempDir(), "twice")
	executable.Write(t, script, fmt.Sprintf("#!/bin/sh\n'%[1]s' rank && '%[1]s' rank\n", selfPath(t)))
	run := binaryRequest(script, "sessions", 2, "assist", t.TempDir()).run(t, nil)
	if want := "was this rank before, and has joined the job"; run.code == 0 || !strings.Contains(run.stderr, want) || strings.Count(run.stdout, "is done\n") != 2 {
		t.Errorf("code %d, want it to say %q\n%s%s", run.code, want, run.stdout, run.stderr)
	}
	t.Log(run.took)
}

func TestSessionAfterFinalize(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs of sessions; TestSessionsOnly is one")
	t.Parallel()
	run := runJob(t, "session after finalize", 2, "assist", t.TempDir())
	if run.code != 0 || strings.Count(run.stdout, "refused") != 2 {
		t.Errorf("code %d\n%s%s", run.code, run.stdout, run.stderr)
	}
}

// Ranks of a process say by their contexts whose sessions they want.
func TestSessionsInMain(t *testing.T) {
	t.Parallel()
	for _, policy := range policies {
		run := mixedJob(t, "sessions in main", 4, 2, policy, t.TempDir())
		if run.code != 0 || run.stderr != "" || strings.Count(run.stdout, "done\n") != 4 {
			t.Errorf("%s: code %d\n%s%s", policy, run.code, run.stdout, run.stderr)
		}
	}
}

// TestSessionsAndDeath: the ranks that live go on in sessions when a rank dies.
func TestSessionsAndDeath(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs of sessions; TestSessionsOnly is one")
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range policies {
		run := binaryRequest(self, "sessions and death", 3, policy, t.TempDir()).with("--with-ft").run(t, nil)
		if run.code != 0 || strings.Count(run.stdout, "survived\n") != 2 {
			t.Errorf("%s: code %d\n%s%s", policy, run.code, run.stdout, run.stderr)
		}
	}
}

// The programs of a job are process sets.
func TestSessionsOfApps(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs of sessions; TestSessionsOnly is one")
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	app := func(n, name string) []string {
		return []string{"-n", n, "-x", envProgram + "=sessions of apps", "-x", "FITMPI_TESTS_APP=" + name, self, "rank"}
	}
	var stdout, stderr buffer
	cmd := exec.CommandContext(t.Context(), fitrunPath(t), slices.Concat([]string{"--timeout", jobTimeout.String()}, app("1", "0"), []string{":"}, app("2", "1"))...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	for _, want := range []string{
		"fitmpi://app/0: rank 0 of 1, in the world 0, split 1\n", "fitmpi://app/1: rank 0 of 2, in the world 1, split 2\n",
		"fitmpi://app/1: rank 1 of 2, in the world 2, split 2\n",
	} {
		if err != nil || strings.Count(stdout.String(), want) != 1 {
			t.Errorf("%v, want %q in:\n%s%s", err, want, stdout.String(), stderr.String())
		}
	}
}

// Programs that use sessions only run under the launchers of others too.
func TestSessionsUnderOtherLaunchers(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs by other launchers")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range launchers[:3] {
		for _, program := range []string{"sessions", "sessions around"} {
			t.Run(l.name+" "+program, func(t *testing.T) {
				if _, err := exec.LookPath(l.program); err != nil {
					t.Skipf("%s is not installed", l.program)
				}
				args, env := l.command(t, 3)
				cmd := exec.CommandContext(t.Context(), args[0], append(args[1:], self)...)
				cmd.Env = append(os.Environ(), append(env, envProgram+"="+program)...)
				out, err := cmd.CombinedOutput()
				if err != nil || strings.Count(string(out), "done\n") != 3 {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}
