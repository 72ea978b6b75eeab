//go:build linux

package launch

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
)

// listener starts an agent that listens, and returns its process and port.
func listener(t *testing.T, secret string) (*exec.Cmd, int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, agent.Arg, "--listen", "127.0.0.1:0", "--secret-file", file)
	cmd.Env = append(os.Environ(), "FAKE_HOST=listener", "XDG_CACHE_HOME="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	m := regexp.MustCompile(`address=127\.0\.0\.1:(\d+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("it said %q, %v", line, err)
	}
	port, _ := strconv.Atoi(m[1])
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	return cmd, port
}

func TestListeningAgent(t *testing.T) {
	const secret = "thirty-two bytes or more of the secret"
	cmd, port := listener(t, secret)
	at := func(act string) Request {
		r := fakeHosts(t, act, "a", "listener", "listener")
		r.Hosts[1] = hosts.Host{Name: "127.0.0.1", Port: port, Agent: true}
		r.Secret = []byte(secret)
		return r
	}
	t.Run("serves", func(t *testing.T) {
		for range 2 {
			code, out, said := execute(t, at("where"), Config{Tag: true})
			if code != 0 || said != "" || !strings.Contains(out, "[2] rank 2 of 3 on listener: local 1 of 2, remote true\n") || !strings.Contains(out, "[0] rank 0 of 3 on a") {
				t.Errorf("exit code %d\n%s\n%s", code, out, said)
			}
		}
	})
	t.Run("wants the secret", func(t *testing.T) {
		for given, want := range map[string]string{"": "give the file, --secret-file FILE", "thirty-two other bytes or more, a few": "another secret"} {
			r := at("where")
			r.Secret = []byte(given)
			if code, out, said := execute(t, r, Config{}); code != ExitError || out != "" || !strings.HasPrefix(said, "fitrun: host 127.0.0.1: ") || !strings.Contains(said, want) {
				t.Errorf("exit code %d\n%s\n%s", code, out, said)
			}
		}
	})
	t.Run("ends with its jobs", func(t *testing.T) {
		out := &watchedWriter{seenc: make(chan struct{}), want: 3}
		go func() { // ends when the ranks have spoken
			<-out.seenc
			cmd.Process.Signal(syscall.SIGTERM)
		}()
		var said watchedWriter
		if code := Execute(t.Context(), at("wait"), Config{Stdout: out, Stderr: &said}); code != ExitError || !strings.Contains(said.b.String(), "fitrun: host 127.0.0.1: the connection ended; with it ranks 1-2; the job was ended\n") {
			t.Errorf("exit code %d, it said %q", code, said.b.String())
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the listener: %v", err)
		}
	})
}
