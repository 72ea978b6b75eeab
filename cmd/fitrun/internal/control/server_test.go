//go:build linux

package control

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

// envServe makes the test binary a process with a Server; its value is what it is to do beside
// that.
const envServe = "FITMPI_DESK_TEST"

func TestMain(m *testing.M) {
	if what := os.Getenv(envServe); what != "" {
		serve(what)
		return
	}
	goleak.VerifyTestMain(m)
}

// serve answers until its standard input ends. As "child" it only waits; as "parent" it has such a
// child.
func serve(what string) {
	if what != "child" {
		d, err := Open(func(ctx context.Context, want string) Answer {
			if want == Text && what == "slow" {
				<-ctx.Done()
			}
			return Answer{Program: "prog " + what, Ranks: 3, Began: time.Unix(1000, 0), Text: want}
		})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		defer d.Close()
	}
	if what == "parent" {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), envServe+"=child")
		cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		defer cmd.Wait()
	}
	fmt.Println(os.Getpid())
	io.Copy(io.Discard, os.Stdin)
}

// everyones is a copy of the test binary that other users can run too.
func everyones(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	executable.Write(t, dir+"/self", string(self))
	return dir + "/self"
}

// stranger is another user.
var stranger = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}

// start starts such a process; pids are those of it and of its child.
func start(t *testing.T, what string, attr *syscall.SysProcAttr) (pids []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if attr != nil {
		self = everyones(t)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envServe+"="+what)
	cmd.SysProcAttr = attr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	n := 1
	if what == "parent" {
		n = 2
	}
	for range n {
		var pid int
		if _, err := fmt.Fscanln(out, &pid); err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

func TestAsk(t *testing.T) {
	pid := start(t, "a", nil)[0]
	for _, want := range []string{Who, Text, Data} {
		a, err := Ask(t.Context(), pid, want)
		if err != nil {
			t.Fatal(err)
		}
		if a.PID != pid || a.Program != "prog a" || a.Ranks != 3 || a.Text != want || !a.Began.Equal(time.Unix(1000, 0)) {
			t.Errorf("%+v", a)
		}
	}
	if _, err := Ask(t.Context(), pid, "everything"); err == nil || !strings.Contains(err.Error(), "knows no question") {
		t.Errorf("an unknown question: %v", err)
	}
}

func TestList(t *testing.T) {
	a, b := start(t, "a", nil)[0], start(t, "b", nil)[0]
	as, err := List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, x := range as {
		pids = append(pids, x.PID)
	}
	if !slices.Contains(pids, a) || !slices.Contains(pids, b) {
		t.Errorf("listed are %v, not %d and %d", pids, a, b)
	}
}

// A fitrun that takes its time is waited for as long as the context says; and it ends although it
// is asked.
func TestSlow(t *testing.T) {
	pid := start(t, "slow", nil)[0]
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // in which it is asked on a loaded machine too
	defer cancel()
	if _, err := Ask(ctx, pid, Text); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("%v", err)
	}
}

// What a process is that cannot be asked is said.
func TestWhoElse(t *testing.T) {
	pids := start(t, "parent", nil) // in the order in which they come
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	me := os.Getpid()
	for _, tc := range []struct {
		pid  int
		want string
	}{
		{gone.Process.Pid, "there is no process"},
		{me, "is not a fitrun"},
	} {
		if _, err := Ask(t.Context(), tc.pid, Who); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%d: %v, want %q", tc.pid, err, tc.want)
		}
	}
	var said []string
	for _, pid := range pids {
		if _, err := Ask(t.Context(), pid, Who); err != nil {
			said = append(said, err.Error())
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "was started by one: ask fitrun status") {
		t.Errorf("of a rank is said %q", said)
	}
}

// A process that has taken the name of another is not believed.
func TestImpostor(t *testing.T) {
	name, err := nameOf(1)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := Ask(t.Context(), 1, Who); err == nil || !strings.Contains(err.Error(), "has taken the name") {
		t.Errorf("%v", err)
	}
}

// Another user is not asked, and is not answered.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	pid := start(t, "nobody", stranger)[0]
	if _, err := Ask(t.Context(), pid, Who); err != nil {
		t.Errorf("root asks: %v", err)
	}
	d, err := Open(func(context.Context, string) Answer { return Answer{Text: "secret"} })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	name, err := nameOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	ask := exec.Command(everyones(t), "-test.run", "TestAsStranger", "-test.v")
	ask.Env = append(os.Environ(), "FITMPI_DESK_STRANGER="+name)
	ask.Dir, ask.SysProcAttr = "/", stranger
	out, err := ask.CombinedOutput()
	if err != nil || strings.Contains(string(out), "secret") || !strings.Contains(string(out), "hung up") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAsStranger is what TestOtherUser runs as another user: it asks without checking which process
// answers.
func TestAsStranger(t *testing.T) {
	name := os.Getenv("FITMPI_DESK_STRANGER")
	if name == "" {
		t.Skip("run by TestOtherUser")
	}
	conn, err := net.Dial("unix", name)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	a, err := converse(conn, Text)
	if err == nil {
		t.Fatalf("answered %+v", a)
	}
	t.Logf("hung up: %v", err)
}

// What is no question is not answered, and does no harm.
func TestNoQuestion(t *testing.T) {
	asked := 0
	d, err := Open(func(context.Context, string) Answer { asked++; return Answer{} })
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	name, err := nameOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"\n", "{}\n", "hello\n", strings.Repeat("x", 2*maxQuestion), `{"Version":1,"Want":7}` + "\n"} {
		conn, err := net.Dial("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, text)
		conn.(*net.UnixConn).CloseWrite()
		reply, _ := io.ReadAll(conn)
		if conn.Close(); strings.Contains(string(reply), "Program\":\"p") || asked > 0 {
			t.Errorf("%.20q is answered by %s", text, reply)
		}
	}
	if _, err := Ask(t.Context(), os.Getpid(), Who); err != nil || asked != 1 {
		t.Errorf("then it is asked: %v", err)
	}
}
