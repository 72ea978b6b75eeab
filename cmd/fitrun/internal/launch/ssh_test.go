//go:build linux

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

// patience is for what must happen soon on a busy machine; nothing waits for it to pass.
const patience = 30 * time.Second

// The real ssh and sshd, between hosts that are networks of their own.
func TestSSH(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts jobs by ssh")
	l := newLab(t, 4)
	for _, tc := range []struct {
		name string
		test func(*testing.T, *lab)
	}{
		{"output", sshOutput}, {"exit code", sshExitCode}, {"signals", sshSignals}, {"stdin", sshStdin},
		{"refused", sshRefused}, {"killed fitrun", sshKilledFitrun}, {"killed agent", sshKilledAgent},
		{"many ranks", sshManyRanks}, {"tree", sshTree}, {"program copied", sshProgramCopied}, {"left behind", sshLeftBehind},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if tc.name == "tree" || tc.name == "program copied" {
				effort.Need(t, effort.Full, "it starts agents on many hosts, or builds programs")
			}
			tc.test(t, l)
			l.AwaitEmpty(t, patience)
		})
	}
}

// What takes seconds of waiting, side by side, each among hosts of its own.
func TestSSHWaits(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel()
	for _, tc := range []struct {
		name  string
		hosts int
		test  func(*testing.T, *lab)
	}{{"no route", 1, sshNoRoute}, {"stopped", 2, sshStopped}, {"cut off", 3, sshCutOff}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, tc.hosts)
			tc.test(t, l)
			l.AwaitEmpty(t, patience)
		})
	}
}

func sshOutput(t *testing.T, l *lab) {
	code, out, said := execute(t, l.request(t, "where", 0, 1, 2, 0, 1, 2), Config{Tag: true})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(lines)
	var want []string
	for r := range 6 {
		want = append(want, fmt.Sprintf("[%d] rank %d of 6 on host%d: local %d of 2, remote true", r, r, r%3, r/3))
	}
	if code != 0 || said != "" || !slices.Equal(lines, want) {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
}

func sshExitCode(t *testing.T, l *lab) {
	code, _, said := execute(t, l.request(t, "exit 2", 0, 0, 1, 1), Config{})
	if want := `rank 2 \(pid \d+ on ` + l.addr(1) + `\) exited with code 3; the job was ended(\. Its last lines on stderr:\n  last words)?\n`; code != 3 || !regexp.MustCompile(want).MatchString(said) {
		t.Errorf("exit code %d, it said %q", code, said)
	}
}

func sshSignals(t *testing.T, l *lab) {
	s := start(t, l.request(t, "wait", 0, 1, 2), 3)
	s.cmd.Process.Signal(syscall.SIGINT)
	s.wantEnd(130, patience)
	if !strings.Contains(s.err.b.String(), "fitrun: interrupt: stopping ranks 0-2") {
		t.Errorf("it said %q", s.err.b.String())
	}
}

func sshStdin(t *testing.T, l *lab) {
	text := strings.Repeat("all of it comes, in order\n", 20000)
	name := filepath.Join(t.TempDir(), "in")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if code, out, said := execute(t, l.request(t, "cat", 3, 1), Config{Stdin: in}); code != 0 || out != text {
		t.Errorf("exit code %d, %d of %d bytes came back: %s", code, len(out), len(text), said)
	}
}

func sshRefused(t *testing.T, l *lab) {
	r := l.request(t, "where", 0, 1)
	r.Hosts[1].Port = 2222
	code, out, said := execute(t, r, Config{})
	if want := "fitrun: host " + l.addr(1) + ": ssh: connect to host " + l.addr(1) + " port 2222: Connection refused; no rank was started\n"; code != ExitError || out != "" || said != want {
		t.Errorf("exit code %d, it said %q, want %q", code, said, want)
	}
}

// ssh itself may find out before the time is over or not; either way the host is named.
func sshNoRoute(t *testing.T, l *lab) {
	r := l.request(t, "where", 0, 1)
	r.Hosts = append(r.Hosts, hosts.Host{Name: l.network.Free()})
	r.LaunchTimeout = 5 * time.Second
	began := time.Now()
	code, out, said := execute(t, r, Config{})
	want := `^fitrun: host ` + l.network.Free() + `: (ssh: connect to host ` + l.network.Free() + ` port 22: (No route to host|Connection timed out)|not reached in time); no rank was started\n$`
	if code != ExitError || out != "" || !regexp.MustCompile(want).MatchString(said) || time.Since(began) > patience {
		t.Errorf("exit code %d after %v, it said %q", code, time.Since(began), said)
	}
}

func sshKilledFitrun(t *testing.T, l *lab) {
	s := start(t, l.request(t, "wait", 0, 1, 2, 3), 4)
	if l.clients() == 0 {
		t.Fatal("the test does not know ssh when it sees it")
	}
	s.cmd.Process.Kill()
	s.wantEnd(-9, patience)
	for end := time.Now().Add(patience); l.clients() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d ssh are left here", l.clients())
		}
	}
}

func sshKilledAgent(t *testing.T, l *lab) {
	code, _, said := execute(t, l.request(t, "kill 1", 0, 1, 2), Config{})
	if want := "fitrun: host " + l.addr(1) + ": "; code != ExitError || !strings.Contains(said, want) || !strings.Contains(said, "; with it rank 1; the job was ended\n") {
		t.Errorf("exit code %d, it said %q", code, said)
	}
}

func sshManyRanks(t *testing.T, l *lab) {
	var place []int
	for r := range 64 {
		place = append(place, r%4)
	}
	code, out, said := execute(t, l.request(t, "where", place...), Config{})
	if code != 0 || said != "" || strings.Count(out, "\n") != 64 || strings.Count(out, "of 16, remote true") != 64 {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
}

// The hosts behind others are reached by ssh from there.
func sshTree(t *testing.T, l *lab) {
	r := l.request(t, "where", 0, 1, 2, 3)
	r.FanOut = 2
	code, out, said := execute(t, r, Config{})
	if code != 0 || said != "" || strings.Count(out, "remote true\n") != 4 {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
	r = l.request(t, "kill 1", 0, 1, 2, 3) // hosts 2 and 3 are behind it
	r.FanOut = 1
	if code, _, said := execute(t, r, Config{}); code != ExitError || !strings.Contains(said, "; with it rank 1; the job was ended\n") {
		t.Errorf("exit code %d, it said %q", code, said)
	}
	l.AwaitEmpty(t, patience)
	r = l.request(t, "wait", 0, 1, 2, 3)
	r.FanOut = 1
	s := start(t, r, 4)
	s.cmd.Process.Kill()
	s.wantEnd(-9, patience)
}

// A program that hosts do not have is copied to each, once.
func sshProgramCopied(t *testing.T, l *lab) {
	r := l.request(t, "where", 0, 1, 2, 3)
	r.FanOut = 2
	b, err := os.ReadFile(r.Apps[0].Program.Path)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(l.Hidden(), "program")
	executable.Write(t, path, string(b))
	r.Apps[0].Program.Path = path
	var before []string
	for range 2 {
		if code, out, said := execute(t, r, Config{}); code != 0 || strings.Count(out, "\n") != 4 {
			t.Fatalf("exit code %d\n%s\n%s", code, out, said)
		}
		copies, err := filepath.Glob(filepath.Join(l.Caches(), "fitmpi/*/program"))
		if err != nil || len(copies) != 4 {
			t.Fatalf("copies %q, %v", copies, err)
		}
		for i, c := range copies {
			st, err := os.Stat(c)
			if err != nil || st.Mode().Perm() != 0o700 {
				t.Fatalf("%s: %v, %v", c, st, err)
			}
			copies[i] += st.ModTime().String()
		}
		if before != nil && !slices.Equal(copies, before) {
			t.Errorf("copied again: %q, %q", before, copies)
		}
		before = copies
	}
}

// sshCutOff: a host that is cut off while the job runs ends the job. Its ranks end too, though
// fitrun cannot tell them.
func sshCutOff(t *testing.T, l *lab) {
	r := l.request(t, "wait", 0, 1, 2)
	r.Silence = 4 * time.Second
	s := start(t, r, 3)
	l.Hosts()[1].Cut()
	s.wantEnd(ExitError, patience)
	if want := "fitrun: host " + l.addr(1) + ": nothing was heard from it for 4s; with it rank 1; the job was ended\n"; !strings.Contains(s.err.b.String(), want) {
		t.Errorf("it said %q, want %q", s.err.b.String(), want)
	}
	l.AwaitEmpty(t, patience)
	l.Hosts()[1].Join()
}

// A fitrun that is stopped by ^Z is not taken for dead, and is there when it goes on.
func sshStopped(t *testing.T, l *lab) {
	r := l.request(t, "wait", 0, 1)
	r.Silence = 3 * time.Second
	s := start(t, r, 2)
	s.cmd.Process.Signal(syscall.SIGTSTP)
	time.Sleep(2 * r.Silence) // nothing is waited for: this is how long it is silent
	s.cmd.Process.Signal(syscall.SIGCONT)
	time.Sleep(3 * r.Silence / 2)
	s.cmd.Process.Signal(syscall.SIGINT)
	s.wantEnd(130, patience)
	if said := s.err.b.String(); !strings.HasPrefix(said, "fitrun: interrupt: stopping ranks 0-1") {
		t.Errorf("it said %q", said)
	}
}

// What ranks leave behind is ended, also what has left their process group and session.
func sshLeftBehind(t *testing.T, l *lab) {
	if code, _, said := execute(t, l.request(t, "leave", 0, 1), Config{}); code != 0 {
		t.Errorf("exit code %d, it said %q", code, said)
	}
	l.AwaitEmpty(t, patience)
	s := start(t, l.request(t, "leave and wait", 0, 1), 2)
	s.cmd.Process.Kill()
	s.wantEnd(-9, patience)
}
