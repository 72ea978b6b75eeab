//go:build linux

package launch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/crew"
	"github.com/fitmpi/fitmpi/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// lab is some hosts that share this machine's kernel and files, each with a network of its own and an sshd, and a bridge
// between them and us. Their addresses are of a range for tests of networks, in a part of it that no other run of these
// tests is likely to use.
type lab struct {
	dir    string
	hidden string // a directory that is another, empty one on each host
	names  []string
	net    string // the first three numbers of all addresses
}

func (l *lab) addr(i int) string      { return fmt.Sprintf("%s.%d", l.net, 1+i) }
func (l *lab) namespace(i int) string { return l.names[i] }
func (l *lab) link(i int) string      { return l.names[i] + "v" }

// newLab skips the test where a lab cannot be: it needs root, ip and an sshd.
func newLab(t *testing.T, n int) *lab {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("networks of their own for each host need root")
	}
	for _, tool := range []string{"ip", "ssh", "ssh-keygen", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s: install iproute2, openssh-client and openssh-server", tool)
		}
	}
	l := &lab{dir: t.TempDir(), net: fmt.Sprintf("198.%d.%d", 18+os.Getpid()/256%2, os.Getpid()%256)}
	l.hidden = filepath.Join(l.dir, "hidden")
	bridge := fmt.Sprintf("fb%d", os.Getpid())
	if out, err := exec.Command("ip", "link", "add", bridge, "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("no bridge can be made here: %s", out)
	}
	t.Cleanup(func() { exec.Command("ip", "link", "del", bridge).Run() })
	must(t, "ip", "addr", "add", l.net+".254/24", "dev", bridge)
	must(t, "ip", "link", "set", bridge, "up")
	l.configure(t)
	for i := range n {
		l.addHost(t, i, bridge)
	}
	for i := range n {
		l.await(t, i)
	}
	return l
}

func must(t *testing.T, argv ...string) {
	t.Helper()
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
}

// configure makes keys, and configurations of ssh.
func (l *lab) configure(t *testing.T) {
	t.Helper()
	file := func(name string) string { return filepath.Join(l.dir, name) }
	for _, key := range []string{"host", "user"} {
		must(t, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file(key))
	}
	must(t, "cp", file("user.pub"), file("authorized"))
	config := fmt.Sprintf("Host *\n User root\n IdentityFile %s\n IdentitiesOnly yes\n UserKnownHostsFile %s\n StrictHostKeyChecking accept-new\n LogLevel ERROR\n",
		file("user"), file("known"))
	for _, err := range []error{
		os.WriteFile(file("config"), []byte(config), 0o600), os.MkdirAll("/run/sshd", 0o755), os.Mkdir(l.hidden, 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// addHost makes host i and starts its sshd.
func (l *lab) addHost(t *testing.T, i int, bridge string) {
	t.Helper()
	name := fmt.Sprintf("fn%d-%d", os.Getpid(), i)
	l.names = append(l.names, name)
	must(t, "ip", "netns", "add", name)
	t.Cleanup(func() { exec.Command("ip", "netns", "del", name).Run() })
	must(t, "ip", "link", "add", l.link(i), "type", "veth", "peer", "name", "eth0", "netns", name)
	must(t, "ip", "link", "set", l.link(i), "master", bridge, "up")
	must(t, "ip", "-n", name, "addr", "add", l.addr(i)+"/24", "dev", "eth0")
	must(t, "ip", "-n", name, "link", "set", "eth0", "up")
	must(t, "ip", "-n", name, "link", "set", "lo", "up")
	conf := filepath.Join(l.dir, "sshd"+fmt.Sprint(i))
	text := fmt.Sprintf("HostKey %s/host\nPidFile none\nAuthorizedKeysFile %s/authorized\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nMaxStartups 100\nSetEnv FAKE_HOST=host%d XDG_CACHE_HOME=%s/cache%d\n",
		l.dir, l.dir, i, l.dir, i)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// ip netns exec gives what it runs its own view of mounts too.
	cmd := exec.Command("ip", "netns", "exec", name, "sh", "-c", "mount -t tmpfs none "+l.hidden+" && exec /usr/sbin/sshd -D -e -f "+conf)
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second // a session that is left has its stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, pid := range l.pids(i) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		cmd.Wait()
		if t.Failed() {
			t.Logf("sshd of host %d: %s", i, said.String())
		}
	})
}

// await waits for the sshd of host i.
func (l *lab) await(t *testing.T, i int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", l.addr(i)+":22", time.Second)
		if err == nil {
			c.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// pids are the processes of host i.
func (l *lab) pids(i int) []int {
	out, _ := exec.Command("ip", "netns", "pids", l.namespace(i)).Output()
	var pids []int
	for f := range strings.FieldsSeq(string(out)) {
		var pid int
		fmt.Sscan(f, &pid)
		pids = append(pids, pid)
	}
	return pids
}

// ours are those of the processes of host i that are agents, guards or ranks.
func (l *lab) ours(i int) []int {
	var ours []int
	for _, pid := range l.pids(i) {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && len(b) > 0 && !strings.HasPrefix(string(b), "sshd") && !strings.HasPrefix(string(b), "/usr/sbin/sshd") {
			ours = append(ours, pid)
		}
	}
	return ours
}

// clients is how many ssh there are, on any host, that reach hosts of the lab.
func (l *lab) clients() int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	n := 0
	for _, file := range files {
		if b, _ := os.ReadFile(file); bytes.HasPrefix(b, []byte("ssh\x00-F\x00"+l.dir)) {
			n++
		}
	}
	return n
}

// wantEmpty waits until nothing of a job is left on any host.
func (l *lab) wantEmpty(t *testing.T, within time.Duration) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		left := make(map[int][]int)
		for i := range l.names {
			if pids := l.ours(i); len(pids) > 0 {
				left[i] = pids
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			for i, pids := range left {
				for _, pid := range pids {
					b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
					t.Errorf("left on host %d: %d %q", i, pid, bytes.ReplaceAll(b, []byte{0}, []byte(" ")))
				}
			}
			return
		}
	}
}

// request is for ranks that act on hosts, by index.
func (l *lab) request(t *testing.T, act string, place ...int) Request {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := Request{
		Apps: []App{{Program: Program{Name: "self", Path: exe}, Args: []string{"rank"}, Ranks: len(place),
			Set: []string{"LAUNCH_TEST_RANK=" + act, "GORACE=atexit_sleep_ms=0"}}},
		Cores: 2, CPUs: sys.AllowedCPUs(), Env: os.Environ(), Place: place,
		SSHArgs: []string{"-F", filepath.Join(l.dir, "config")}, LaunchTimeout: 30 * time.Second,
	}
	for i := range l.names {
		r.Hosts = append(r.Hosts, hosts.Host{Name: l.addr(i)})
	}
	return r
}

// fitrunVariable makes this binary a fitrun of the request that its value encodes.
const fitrunVariable = "LAUNCH_TEST_FITRUN"

func fitrunMain(request string) int {
	os.Unsetenv(fitrunVariable)
	var r Request
	if err := json.Unmarshal([]byte(request), &r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	r.Env = os.Environ()
	guard, err := crew.StartGuard()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 99
	}
	defer guard.Close()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	return Execute(context.Background(), r, Config{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals, Tag: true, Guard: guard,
		AdoptedOrphans: sys.AdoptOrphans() == nil,
	})
}

// started is a fitrun that runs, and what it has said.
type started struct {
	t        *testing.T
	cmd      *exec.Cmd
	out, err watchedWriter
	endc     chan error
}

// start starts a fitrun as a process of its own, and waits until it has shown so many lines.
func start(t *testing.T, r Request, lines int) *started {
	t.Helper()
	r.Env = nil
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &started{t: t, cmd: exec.Command(exe), endc: make(chan error, 1)}
	s.out.seenc, s.out.want = make(chan struct{}), lines
	s.cmd.Env = append(os.Environ(), fitrunVariable+"="+string(b))
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.err
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.endc <- s.cmd.Wait() }() // ends with the process, which cleanup kills
	t.Cleanup(func() { s.cmd.Process.Kill() })
	select {
	case <-s.out.seenc:
	case err := <-s.endc:
		t.Fatalf("it ended: %v\n%s%s", err, s.out.b.String(), s.err.b.String())
	case <-time.After(time.Minute):
		t.Fatalf("it did not come so far\n%s", s.err.b.String())
	}
	return s
}

// wantEnd waits for its end, with a code or, negative, by a signal.
func (s *started) wantEnd(code int, within time.Duration) {
	s.t.Helper()
	select {
	case <-s.endc:
	case <-time.After(within):
		s.t.Fatalf("it does not end\n%s", s.err.b.String())
	}
	status := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
	got := status.ExitStatus()
	if status.Signaled() {
		got = -int(status.Signal())
	}
	if got != code {
		s.t.Errorf("ended with %d, want %d: %s", got, code, s.err.b.String())
	}
}
