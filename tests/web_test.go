//go:build linux

package tests

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/webtest"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() { programs["web"] = webRank }

// webRank sends r+1 messages of 1000 bytes to the right and then stands still. Rank 0 stands in a
// receive from the last rank. The others stand outside MPI until the test writes to their pipes:
// the last rank then sends to rank 0, and a rank that is told to die does.
func webRank() {
	mpi.Main(func(_ context.Context, world *mpi.Comm) error {
		n, r := world.Size(), world.Rank()
		b := make([]byte, 1000)
		out := make([]*mpi.Request, 0, n)
		for range r + 1 {
			out = append(out, mpi.Isend(world, make([]byte, 1000), (r+1)%n, 1))
		}
		left := (r + n - 1) % n
		for range left + 1 {
			if _, err := mpi.Recv(world, b, left, 1); err != nil {
				return err
			}
		}
		if _, err := mpi.WaitAll(out...); err != nil {
			return err
		}
		if r == 0 && n > 1 {
			_, err := mpi.Recv(world, b, n-1, 2)
			return err
		}
		word, err := os.ReadFile(filepath.Join(os.Getenv(envDir), fmt.Sprint("go", r))) // waits for the writer
		switch {
		case err != nil:
			return err
		case string(word) == "die":
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case r == n-1 && n > 1:
			return mpi.Send(world, b, 0, 2)
		}
		return nil
	})
}

// webJob is a job of webRank under fitrun --web.
type webJob struct {
	t      *testing.T
	dir    string
	url    string
	cmd    *exec.Cmd
	stderr buffer
	over   func() // waits for the end of stderr
}

// startWebJob starts a job of webRank.
func startWebJob(t *testing.T, n int) *webJob {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := range n {
		if err := syscall.Mkfifo(filepath.Join(dir, fmt.Sprint("go", r)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return startFitrunWeb(t, "", dir, "-n", fmt.Sprint(n), self)
}

// startFitrunWeb starts fitrun --web with a working directory, "" for this one, and returns when it
// has said where its page is. The ranks meet the test in dir.
func startFitrunWeb(t *testing.T, wd, dir string, args ...string) *webJob {
	t.Helper()
	j := &webJob{t: t, dir: dir}
	j.cmd = exec.Command(fitrunPath(t), append([]string{"--web", "127.0.0.1:0", "--timeout", jobTimeout.String()}, args...)...)
	j.cmd.Dir = wd
	j.cmd.Env = append(os.Environ(), envProgram+"=web", envDir+"="+j.dir)
	pipe, err := j.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := j.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(pipe)
	line, err := lines.ReadString('\n')
	if _, url, ok := strings.Cut(line, "live page at "); ok {
		j.url = strings.TrimSpace(url)
	} else {
		t.Errorf("fitrun's first line is %q (%v), want the address of the page", line, err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { lines.WriteTo(&j.stderr) })
	j.over = wg.Wait
	t.Cleanup(func() {
		j.cmd.Process.Kill() // if it is still there
		wg.Wait()
	})
	return j
}

// tell writes a word to a rank that waits for one.
func (j *webJob) tell(r int, word string) {
	j.t.Helper()
	if err := os.WriteFile(filepath.Join(j.dir, fmt.Sprint("go", r)), []byte(word), 0); err != nil {
		j.t.Fatal(err)
	}
}

// ends waits for the end of fitrun, with this code.
func (j *webJob) ends(code int) {
	j.t.Helper()
	j.over()
	j.cmd.Wait()
	if got := j.cmd.ProcessState.ExitCode(); got != code {
		j.t.Errorf("fitrun ended with code %d, want %d; stderr: %s", got, code, j.stderr.String())
	}
}

// rowState is an expression for the state that the page shows of a rank.
func rowState(r int) string {
	return fmt.Sprintf(`document.querySelectorAll("#ranks tbody tr")[%d]?.cells[1].children[1].textContent ?? ""`, r)
}

// want fails the test unless an element reads so.
func wantText(t *testing.T, p *webtest.Page, selector, pattern string) {
	t.Helper()
	if text := p.Text(selector); !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("%s reads %q, want %q", selector, text, pattern)
	}
}

func wantNoTrouble(t *testing.T, p *webtest.Page) {
	t.Helper()
	if trouble := p.Trouble(); len(trouble) > 0 {
		t.Errorf("the page complains: %q", trouble)
	}
}

// choosePair has the page tell of what one rank sends another.
func choosePair(p *webtest.Page, from, to int) {
	for id, r := range map[string]int{"from": from, "to": to} {
		p.Eval(fmt.Sprintf(`(() => {const e = document.getElementById(%q); e.value = %d; e.dispatchEvent(new Event("input"))})()`, id, r), nil)
	}
}

// TestWebOfAJobThatFails: in a job of four ranks, of which one waits, the page shows which rank
// waits, and which sent how much to which. When a rank is killed, it shows which one, of what, and
// the last figures of all.
func TestWebOfAJobThatFails(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it needs a browser")
	b := webtest.Start(t)
	j := startWebJob(t, 4)
	p := b.Open(j.url, 1300, 900)
	for r, state := range []string{"waiting in Recv at web_test.go:", "computing", "computing", "computing"} {
		p.Until(fmt.Sprintf("(%s).startsWith(%q)", rowState(r), state))
	}
	p.Drawn()
	wantText(t, p, "#about", `^4 ranks on \S+, 0:\d\d$`)
	wantText(t, p, "#status-text", `^Running$`)
	wantText(t, p, "#states", `(?s)3 computing.*1 waiting`)
	choosePair(p, 2, 3)
	wantText(t, p, "#matrix-out", `^From rank 2 to rank 3: 2\.93 KiB in 3 messages since the start`)
	choosePair(p, 3, 2)
	wantText(t, p, "#matrix-out", `: 0 B in 0 messages since the start`)
	wantText(t, p, "#sizes tbody", `^to 1 KiB\s+10\s+100 %$`)
	wantText(t, p, "#events", `(?s)rank 3\s+takes part`)
	wantPids(t, p)
	p.Eval(`document.getElementById("why").click()`, nil)
	p.Until(`/rank 0[^]*Recv[^]*rank 3[^]*web_test\.go:\d+/.test(document.getElementById("why-out").innerText)`)
	t.Log(p.Text("#why-out"))

	j.tell(2, "die")
	j.ends(128 + 9)
	p.Until(`document.getElementById("status-text").textContent.startsWith("The job has ended")`)
	p.Drawn()
	wantText(t, p, "#status-text", `^The job has ended: rank 2 was killed by signal 9 \(killed\)$`)
	var states []string
	p.Eval(fmt.Sprintf(`[%s, %s, %s, %s]`, rowState(0), rowState(1), rowState(2), rowState(3)), &states)
	for r, want := range []string{`^ended: was ended with the job`, `^ended`, `^failed: was killed by signal 9 \(killed\)$`, `^ended`} {
		if !regexp.MustCompile(want).MatchString(states[r]) {
			t.Errorf("the page says of rank %d: %q, want %q", r, states[r], want)
		}
	}
	choosePair(p, 2, 3)
	wantText(t, p, "#matrix-out", `^From rank 2 to rank 3: 2\.93 KiB in 3 messages`)
	wantText(t, p, "#events", `(?s)killed by signal 9 \(killed\); the job was ended`)
	keepShot(t, p, "4-failed")
	wantNoTrouble(t, p)
}

// wantPids compares the processes that the page names with those that are there.
func wantPids(t *testing.T, p *webtest.Page) {
	t.Helper()
	var pids []string
	p.Eval(`[...document.querySelectorAll("#ranks tbody tr")].map((tr) => tr.cells[4].textContent)`, &pids)
	for r, pid := range pids {
		env, err := os.ReadFile("/proc/" + pid + "/environ")
		if err != nil || !bytes.Contains(env, []byte(envProgram+"=web")) {
			t.Errorf("the page says that rank %d is process %s, which is none of the job's: %v", r, pid, err)
		}
	}
}

// TestWebOfOneRank: a job of one rank, to its end, with a page that is opened when none has looked
// for a while.
func TestWebOfOneRank(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it needs a browser")
	b := webtest.Start(t)
	j := startWebJob(t, 1)
	p := b.Open(j.url, 800, 700)
	p.Until(fmt.Sprintf("%s === 'computing'", rowState(0)))
	p.Drawn()
	wantText(t, p, "#about", `^1 rank on \S+, 0:\d\d$`)
	choosePair(p, 0, 0)
	wantText(t, p, "#matrix-out", `^From rank 0 to rank 0: 1,000 B in 1 message since the start`)
	j.tell(0, "go")
	j.ends(0)
	p.Until(`document.getElementById("status-text").textContent.startsWith("The job has ended")`)
	p.Drawn()
	wantText(t, p, "#status-text", `these are its last figures`)
	wantText(t, p, "#states", `1 exited`)
	wantText(t, p, "#matrix-out", `^From rank 0 to rank 0: 1,000 B in 1 message since the start`)
	wantNoTrouble(t, p)
}

// TestWebOfAnExampleThatIsInterrupted: an example computes while its messages move, until a user
// presses ^C. The page has figures of how much is hidden, and of the last interval, and says how
// the job has ended.
func TestWebOfAnExampleThatIsInterrupted(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Full, "it builds an example, and needs a browser")
	if isHurried() {
		t.Skip("in a hurry: fitrun and the example are built without the detector")
	}
	b := webtest.Start(t)
	dir := t.TempDir()
	program := buildProgram(t, dir, "examples/heat2d")
	j := startFitrunWeb(t, dir, dir, "-n", "4", program, "-size", "800", "-steps", "10000000")
	p := b.Open(j.url, 1280, 900)
	p.Until(`/^<?\d+ %$/.test(document.getElementById("tile-hidden").textContent)`)
	p.Eval(`document.querySelector('input[name="period"][value="last"]').click()`, nil)
	p.Until(`/^[1-9][\d.,]* .?i?B\/s$/.test(document.getElementById("tile-sent").textContent)`)
	choosePair(p, 1, 2)
	p.Until(`/B in [\d,]+ in the last interval/.test(document.getElementById("matrix-out").textContent)`)
	p.Eval(`document.querySelector('input[name="period"][value="total"]').click()`, nil)
	keepShot(t, p, "4-light")
	p.Prefer("prefers-color-scheme", "dark")
	keepShot(t, p, "4-dark")
	if err := j.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	j.ends(130)
	p.Until(`document.getElementById("status-text").textContent.startsWith("The job has ended")`)
	p.Drawn()
	for r := range 4 { // one may have seen the end of another before fitrun's signal came
		var state string
		if p.Eval(rowState(r), &state); !strings.HasPrefix(state, "ended: ") && !strings.HasSuffix(state, " while the job was being ended") {
			t.Errorf("the page says of rank %d: %q", r, state)
		}
	}
	wantNoTrouble(t, p)
}

// keepShot writes a picture of the page where FITMPI_WEB_SHOTS says, for people to look at and for
// docs/web.
func keepShot(t *testing.T, p *webtest.Page, name string) {
	t.Helper()
	dir := os.Getenv("FITMPI_WEB_SHOTS")
	if dir == "" {
		return
	}
	p.Drawn()
	if err := os.WriteFile(filepath.Join(dir, name+".png"), p.Screenshot(true), 0o666); err != nil {
		t.Fatal(err)
	}
}
