//go:build linux

package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/mpi"
)

// What fitrun says of jobs of which it is known what is wrong with them.

func init() {
	programs["scene"] = func() {
		if os.Getenv(envScene) == "tiny messages" {
			comeFirst()
		}
		mpi.Main(func(_ context.Context, c *mpi.Comm) error { return scenes[os.Getenv(envScene)](c) })
	}
}

// comeFirst gives the session of these ranks more of the cores than others have, if the kernel
// deals them out by session and the user may: where ranks get little of a busy machine, they wait
// for that and not for each other, and what is said of them is true of another scene.
func comeFirst() { os.WriteFile("/proc/self/autogroup", []byte("-10"), 0) }

const envScene = "FITMPI_TESTS_SCENE"

// While a rank sleeps it computes, as far as MPI knows; it is long against all that a busy machine
// adds.
const computes = 300 * time.Millisecond

var scenes = map[string]func(c *mpi.Comm) error{
	// Rank 2 computes before each of its messages, for which all others wait.
	"late sender": func(c *mpi.Comm) error {
		buf := make([]int64, 1000)
		for range 4 {
			if c.Rank() != 2 {
				if _, err := mpi.Recv(c, buf, 2, 5); err != nil { // late sender
					return err
				}
				continue
			}
			time.Sleep(computes)
			for _, to := range []int{0, 1, 3} {
				if err := mpi.Send(c, buf, to, 5); err != nil {
					return err
				}
			}
		}
		return nil
	},
	// Rank 3 computes before each of its receives; rank 0 waits for it, the others for no rank. The
	// fifth message that rank 3 has of rank 0 is of the barrier of Finalize.
	"late receiver": func(c *mpi.Comm) error {
		buf := make([]int64, 100_000)
		for range 4 {
			if c.Rank() == 0 {
				if err := mpi.Ssend(c, buf, 3, 5); err != nil { // late receiver
					return err
				}
				continue
			}
			time.Sleep(computes)
			if c.Rank() == 3 {
				if _, err := mpi.Recv(c, buf, 0, 5); err != nil {
					return err
				}
			}
		}
		return nil
	},
	// Rank 1 has more to do between collectives.
	"imbalance": func(c *mpi.Comm) error {
		sum := make([]int64, 10)
		for range 4 {
			if c.Rank() == 1 {
				time.Sleep(computes)
			}
			if err := mpi.Allreduce(c, make([]int64, 10), sum, mpi.Sum); err != nil { // imbalance
				return err
			}
		}
		return nil
	},
	// Even ranks send odd ones messages of one number, for some time and each as many: rank 0 tells
	// rank 2 when it is enough, as the machine may give one of them more time than the other. It
	// tells so seldom: for each word with rank 2 they wait until a busy machine has let both run.
	"tiny messages": func(c *mpi.Comm) error {
		buf := make([]int64, 1)
		if c.Rank()%2 == 1 {
			for {
				if st, err := mpi.Recv(c, buf, c.Rank()-1, mpi.AnyTag); err != nil || st.Tag == 1 {
					return err
				}
			}
		}
		const batch, enough = 50_000, 1
		for end := time.Now().Add(3 * computes); buf[0] != enough; {
			for range batch {
				if err := mpi.Send(c, buf, c.Rank()+1, 0); err != nil {
					return err
				}
			}
			switch {
			case c.Rank() == 2:
				if _, err := mpi.Recv(c, buf, 0, 0); err != nil {
					return err
				}
				continue
			case time.Now().After(end):
				buf[0] = enough
			}
			if err := mpi.Send(c, buf, 2, 0); err != nil {
				return err
			}
		}
		return mpi.Send(c, buf, c.Rank()+1, 1)
	},
	// Nothing is wrong.
	"clean": func(c *mpi.Comm) error {
		out, in := make([]int64, 1000), make([]int64, 1000)
		for range 8 { // on a busy machine ranks do not start at one time: that is to be little of the whole
			time.Sleep(computes)
			if _, err := mpi.Sendrecv(c, out, (c.Rank()+1)%c.Size(), 0, in, (c.Rank()+c.Size()-1)%c.Size(), 0); err != nil {
				return err
			}
		}
		return nil
	},
	// Rank 1 dies after a while, for which the others wait.
	"death": func(c *mpi.Comm) error {
		if c.Rank() == 1 {
			time.Sleep(5 * computes)
			os.Exit(3)
		}
		buf := make([]int64, 1)
		_, err := mpi.Recv(c, buf, 1, 0)
		return err
	},
	// Ranks write lines, in pieces and whole, and wait for each other in between.
	"lines": func(c *mpi.Comm) error {
		for i := range 60 {
			fmt.Printf("rank %d ", c.Rank())
			time.Sleep(10 * time.Millisecond)
			fmt.Printf("says %d\n", i)
			if err := mpi.Barrier(c); err != nil {
				return err
			}
		}
		return nil
	},
}

// lineOf is the line of this file that ends in a comment.
func lineOf(t *testing.T, comment string) int {
	t.Helper()
	source, err := os.ReadFile("summary_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(l, "{ // "+comment) {
			return i + 1
		}
	}
	t.Fatalf("no line ends in %q", comment)
	return 0
}

// sceneOf is the command line of fitrun for a scene of four ranks.
func sceneOf(t *testing.T, fitrun, scene string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), fitrun, append(append([]string{"-n", "4", "--timeout", jobTimeout.String()}, args...), self, "rank")...)
	cmd.Env = append(os.Environ(), envProgram+"=scene", envScene+"="+scene, "TERM=xterm")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// jobSummary is what fitrun --summary-file writes, as far as these tests look at it.
type jobSummary struct {
	Ranks []struct {
		State              string
		Code               int
		Seconds            float64
		Messages, Received uint64
		PeakMemory         uint64
	}
	Findings []finding
}

type finding struct {
	Kind  string
	Ranks []int
	Op    string
}

// summarised runs a scene and returns its summary, in both forms, and its exit code.
func summarised(t *testing.T, fitrun, scene string, args ...string) (string, *jobSummary, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "summary.json")
	cmd := sceneOf(t, fitrun, scene, append([]string{"--summary", "--summary-file", file}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); !ok {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := new(jobSummary)
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return stderr.String(), s, cmd.ProcessState.ExitCode()
}

// sceneSummary is what is to be said of a scene.
type sceneSummary struct {
	kind  string
	ranks []int // whose fault it is
	op    string
	says  string // on stderr, as a pattern
}

// differs says what is said in its place, "" if nothing is.
func (want *sceneSummary) differs(text string, s *jobSummary) string {
	if plain := strings.Join(strings.Fields(text), " "); !regexp.MustCompile(want.says).MatchString(plain) {
		return fmt.Sprintf("no %q in:\n%s", want.says, text)
	}
	if want.kind == "" {
		if len(s.Findings) > 0 {
			return fmt.Sprintf("found %+v", s.Findings)
		}
		return ""
	}
	i := slices.IndexFunc(s.Findings, func(f finding) bool { return f.Kind == want.kind })
	if i < 0 || !slices.Equal(s.Findings[i].Ranks, want.ranks) || s.Findings[i].Op != want.op {
		return fmt.Sprintf("want %q of ranks %v in %s: %+v", want.kind, want.ranks, want.op, s.Findings)
	}
	return ""
}

// TestSummary: what is wrong with a job is named, with the ranks and the line of the program, and
// nothing where nothing is.
func TestSummary(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts many jobs")
	if raceEnabled {
		t.Skip("the race detector makes a different job of it")
	}
	fitrun := fitrunPath(t)
	for _, how := range [][]string{{"--transport", "shm"}, {"--transport", "tcp"}, {"--ranks-per-process", "2"}} {
		t.Run(how[1], func(t *testing.T) {
			if how[1] != "tcp" {
				effort.Need(t, effort.Full, "it starts as many jobs once more")
			}
			for scene, want := range map[string]sceneSummary{
				"late sender": {"late sender", []int{2}, "Recv",
					`late sender, \d+% of the ranks' time: ranks 0, 1 and 3 waited .* of their time\) in Recv at summary_test\.go:%d for rank 2, which computed\.`},
				"late receiver": {"late receiver", []int{3}, "Ssend",
					`late receiver, \d+% of the ranks' time: rank 0 waited .* of its time\) in Ssend at summary_test\.go:%d until rank 3 received, which computed \(5 messages of 625 KiB on average`},
				"imbalance": {"imbalance", []int{1}, "Allreduce",
					`imbalance, \d+% of the ranks' time: rank 1 waited .* in Allreduce at summary_test\.go:%d: it has more to do\.`},
				"tiny messages": {"tiny messages", []int{0, 2}, "",
					`tiny messages, \d+% of the ranks' time: .* messages of at most 64 bytes were 100% of all, most sent by ranks 0 and 2:`},
				"clean": {says: `Nothing stands out: \d+% computing\.`},
			} {
				t.Run(scene, func(t *testing.T) {
					if scene != "tiny messages" {
						t.Parallel() // they mostly sleep
					}
					if want.op != "" {
						want.says = strings.ReplaceAll(want.says, "%d", fmt.Sprint(lineOf(t, scene)))
					}
					wrong := "not played"
					for range 10 { // a machine that is very busy makes another scene of it
						text, s, code := summarised(t, fitrun, scene, how...)
						if code != 0 || len(s.Ranks) != 4 {
							t.Fatalf("code %d, %d ranks:\n%s", code, len(s.Ranks), text)
						}
						for _, r := range s.Ranks {
							if r.State != "whole" || r.Seconds < computes.Seconds() || r.Messages == 0 && r.Received == 0 || r.PeakMemory == 0 {
								t.Errorf("%+v", r)
							}
						}
						if wrong = want.differs(text, s); wrong == "" {
							return
						}
						t.Log(wrong)
					}
					t.Error(wrong)
				})
			}
		})
	}
	t.Run("death", func(t *testing.T) {
		text, s, code := summarised(t, fitrun, "death")
		if code != 3 || !strings.Contains(text, " 1*  ") || !strings.Contains(text, "did not finish") {
			t.Errorf("code %d:\n%s", code, text)
		}
		if r := s.Ranks[1]; r.State != "broken" || r.Code != 3 || r.Seconds <= 0 {
			t.Errorf("%+v", r)
		}
		if len(s.Findings) == 0 || s.Findings[0].Kind != "late sender" || !slices.Equal(s.Findings[0].Ranks, []int{1}) || s.Findings[0].Op != "Recv" {
			t.Errorf("the others waited for it, and that is not said: %+v", s.Findings)
		}
	})
}

// TestProgressLine: on a terminal the line comes and goes, and the output of the ranks is what it
// is without it.
func TestProgressLine(t *testing.T) {
	t.Parallel()
	fitrun := fitrunPath(t)
	user, program, err := sys.OpenPty()
	if err != nil {
		t.Fatal(err)
	}
	defer user.Close()
	defer program.Close()
	if err := sys.SetTerminalSize(int(user.Fd()), 60, 24); err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	var reader sync.WaitGroup
	reader.Go(func() { io.Copy(&raw, user) })                                          // until the other end is closed
	cmd := sceneOf(t, fitrun, "lines", "--progress-line", "--summary", "--tag-output") // with tags nothing is taken for a prompt, however slow
	cmd.Stdout, cmd.Stderr = program, program
	if err := cmd.Run(); err != nil {
		t.Error(err)
	}
	program.Close()
	reader.Wait()
	shown := strings.ReplaceAll(raw.String(), "\r\n", "\n")
	left := regexp.MustCompile(`(?m)^[^\n]*\r\x1b\[K`).ReplaceAllString(shown, "") // what the user sees in the end
	output, rest, ok := strings.Cut(left, "fitrun: 4 ranks, ")
	if !ok || !strings.Contains(rest, "overlap") {
		t.Errorf("the summary is not the last: %q", left)
	}
	var want []string
	for r := range 4 {
		for i := range 60 {
			want = append(want, fmt.Sprintf("[%d] rank %d says %d", r, r, i))
		}
	}
	got := strings.Split(strings.TrimSuffix(output, "\n"), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("the output is not whole: %q", left)
	}
	if !regexp.MustCompile(`fitrun: [^\n]* \| \d running, \d waiting[^\n]* \| waiting `).MatchString(shown) {
		t.Errorf("the line was never shown: %q", shown)
	}
	for _, line := range strings.FieldsFunc(shown, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if strings.Contains(line, " running, ") && len([]rune(strings.TrimPrefix(line, "\x1b[K"))) > 59 {
			t.Errorf("beyond the edge: %q", line)
		}
	}
}

// TestProgressLineNowhere: without a terminal there is no line, and a user that asks by --verbose
// hears why.
func TestProgressLineNowhere(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it waits for seconds")
	fitrun := fitrunPath(t)
	for _, test := range []struct{ option, stderr string }{
		{"--tag-output", ""}, {"--verbose", "--progress-line shows nothing: stderr is no terminal"},
	} {
		cmd := sceneOf(t, fitrun, "lines", "--progress-line", test.option)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err != nil || !strings.Contains(stderr.String(), test.stderr) || test.stderr == "" && stderr.Len() > 0 {
			t.Errorf("%s: %v, %q", test.option, err, stderr.String())
		}
	}
}
