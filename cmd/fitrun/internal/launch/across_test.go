//go:build linux

package launch

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

// fakeSSH is a command that does what ssh does, on this machine: each host has a home of its own,
// and those whose names begin with "down" cannot be reached. It is for what needs no network; the
// tests in cmd/fitrun have the real one.
const fakeSSH = `#!/bin/sh
while :; do
	case $1 in
	-o | -p | -l) shift 2 ;;
	--) shift; break ;;
	*) shift ;;
	esac
done
host=$1
shift
case $host in
down*) echo "ssh: connect to host $host port 22: Connection refused" >&2; exit 255 ;;
mute*) exec sleep 1000 ;;
chatty*) echo "Welcome to $host!" ;;
alias*) host=aliased SSH_CONNECTION=$host; export SSH_CONNECTION ;;
esac
mkdir -p "HOMES/$host"
export HOME="HOMES/$host" FAKE_HOST="$host"
unset XDG_CACHE_HOME
case $host in
leaving*) # as ssh does it closes its output first, and says why later: so much later that it is noticed
	sh -c "$*"
	exec >&-
	sleep 0.3
	echo "Connection to $host closed by remote host." >&2
	exit 255 ;;
esac
exec sh -c "$*"
`

// fakeHosts is a request for ranks on hosts that are reached by fakeSSH.
func fakeHosts(t *testing.T, act string, names ...string) Request {
	t.Helper()
	r, _ := fakeHostsAt(t, act, names...)
	return r
}

// fakeHostsAt is fakeHosts, and the directory of the hosts' homes.
func fakeHostsAt(t *testing.T, act string, names ...string) (r Request, homes string) {
	t.Helper()
	homes = t.TempDir()
	ssh := filepath.Join(homes, "ssh")
	executable.Write(t, ssh, strings.ReplaceAll(fakeSSH, "HOMES", homes))
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r = Request{
		Apps: []App{{Program: Program{Name: "self", Path: exe}, Args: []string{"rank"},
			Set: []string{"LAUNCH_TEST_RANK=" + act, "GORACE=atexit_sleep_ms=0"}}},
		Cores: 2, CPUs: sys.AllowedCPUs(), Env: append(os.Environ(), sshVariable+"="+ssh),
	}
	for _, name := range names {
		if !slices.ContainsFunc(r.Hosts, func(h hosts.Host) bool { return h.Name == name }) {
			r.Hosts = append(r.Hosts, hosts.Host{Name: name})
		}
		r.Place = append(r.Place, slices.IndexFunc(r.Hosts, func(h hosts.Host) bool { return h.Name == name }))
	}
	r.Apps[0].Ranks = len(r.Place)
	return r, homes
}

// execute runs a request and returns what it said.
func execute(t *testing.T, r Request, cfg Config) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	cfg.Stdout, cfg.Stderr = &out, &err
	code = Execute(t.Context(), r, cfg)
	return code, out.String(), err.String()
}

func TestAcrossHosts(t *testing.T) {
	code, out, said := execute(t, fakeHosts(t, "where", "a", "b", "a", "chatty"), Config{Tag: true})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(lines)
	want := []string{
		"[0] rank 0 of 4 on a: local 0 of 2, remote true",
		"[1] rank 1 of 4 on b: local 0 of 1, remote true",
		"[2] rank 2 of 4 on a: local 1 of 2, remote true",
		"[3] rank 3 of 4 on chatty: local 0 of 1, remote true",
	}
	if code != 0 || said != "" || !slices.Equal(lines, want) {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
}

func TestAcrossHostsAndHere(t *testing.T) {
	r := fakeHosts(t, "where", "localhost", "b", "localhost")
	r.Env = append(r.Env, "FAKE_HOST=here")
	code, out, said := execute(t, r, Config{Tag: true})
	if code != 0 || said != "" || !strings.Contains(out, "[2] rank 2 of 3 on here: local 1 of 2") || !strings.Contains(out, "[1] rank 1 of 3 on b: local 0 of 1") {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
}

// Ranks of two names of one host are ranks of that host.
func TestTwoNamesOfAHost(t *testing.T) {
	r := fakeHosts(t, "where", "alias1", "b", "alias2", "alias2")
	code, out, said := execute(t, r, Config{Tag: true, Verbose: true})
	lines := strings.Split(strings.TrimSpace(out), "\n")
	slices.Sort(lines)
	want := []string{
		"[0] rank 0 of 4 on aliased: local 0 of 3, remote true",
		"[1] rank 1 of 4 on b: local 0 of 1, remote true",
		"[2] rank 2 of 4 on aliased: local 1 of 3, remote true",
		"[3] rank 3 of 4 on aliased: local 2 of 3, remote true",
	}
	if code != 0 || !slices.Equal(lines, want) {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
	for _, line := range []string{
		"fitrun: host alias2 is alias1 by another name: its ranks are started there, and share its cores and memory\n",
		"fitrun: hosts alias1, b are one machine, which they see differently: their ranks share its cores, and no memory\n",
		"fitrun: 4 ranks in 4 processes on 2 hosts\n",
		"fitrun: host b, at the end: ", "fitrun: host alias1, at the end: ", "fitrun: host b: ",
	} {
		if !strings.Contains(said, line) {
			t.Errorf("it does not say %q:\n%s", line, said)
		}
	}
}

// A failure on another host is told as one of this machine is.
func TestAcrossFailures(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel()
	for _, tc := range []struct {
		act  string
		code int
		said string
	}{
		{"exit 1", 3, `^fitrun: rank 1 \(pid \d+ on b\) exited with code 3; the job was ended\n$`},
		{"kill 1", 1, `^fitrun: host b: ssh ended with signal: killed; with it rank 1; the job was ended\n$`},
		{"stop 1", 1, `^fitrun: host b: nothing was heard from it for 4s; with it rank 1; the job was ended\n$`},
		{"consequence", 137, `^fitrun: rank 1 \(pid \d+ on b\) was killed by signal 9 \(killed\); the job was ended\n$`},
	} {
		t.Run(tc.act, func(t *testing.T) {
			t.Parallel() // one waits for seconds
			r := fakeHosts(t, tc.act, "a", "b")
			r.Silence = 20 * time.Second
			if tc.act == "stop 1" {
				r.Silence = 4 * time.Second // less, and a loaded machine could make the others silent too
			}
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			r.Apps[0].Set = append(r.Apps[0].Set, "LAUNCH_TEST_FIFO="+fifo)
			code, _, said := execute(t, r, Config{})
			said = regexp.MustCompile(`(?m)^(lost fitrun|waiting).*\n|^last words\n`).ReplaceAllString(said, "")
			if code != tc.code || !regexp.MustCompile(tc.said).MatchString(said) {
				t.Errorf("exit code %d, it said %q", code, said)
			}
		})
	}
}

// When ssh ends the conversation what it says of that is told, although it says so after the end.
func TestSSHHasTheLastWord(t *testing.T) {
	r := fakeHosts(t, "kill 1", "a", "leaving")
	r.Silence = 20 * time.Second
	code, _, said := execute(t, r, Config{})
	if want := "fitrun: host leaving: Connection to leaving closed by remote host; with it rank 1;"; code != ExitError || !strings.Contains(said, want) {
		t.Errorf("exit code %d, it said %q", code, said)
	}
}

// A host that cannot be reached is named with what ssh says, and no rank runs anywhere.
func TestHostNotReached(t *testing.T) {
	effort.Need(t, effort.Usual, "it waits for seconds")
	t.Parallel() // it waits
	for _, tc := range []struct {
		hosts   []string
		timeout time.Duration // in which a is reached on a loaded machine too
		said    string
	}{
		{[]string{"a", "down"}, patience, "fitrun: host down: ssh: connect to host down port 22: Connection refused; no rank was started\n"},
		{[]string{"mute", "a", "mute2"}, 8 * time.Second, "fitrun: host mute, mute2: not reached in time; no rank was started\n"},
		{[]string{"mute", "behind"}, time.Second, "fitrun: host mute, behind: not reached in time; no rank was started\n"},
	} {
		r := fakeHosts(t, "where", tc.hosts...)
		r.LaunchTimeout = tc.timeout
		if tc.hosts[1] == "behind" {
			r.FanOut = 1
		}
		if code, out, said := execute(t, r, Config{}); code != ExitError || out != "" || said != tc.said {
			t.Errorf("exit code %d\n%s\n%s", code, out, said)
		}
	}
}

// A signal ends a launch that hangs.
func TestLaunchInterrupted(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signals <- syscall.SIGINT
	if code, out, said := execute(t, fakeHosts(t, "where", "a", "mute"), Config{Signals: signals}); code != 130 || out != "" || said != "fitrun: interrupt\n" {
		t.Errorf("exit code %d, %q, it said %q", code, out, said)
	}
}

// Inside an allocation of Slurm's, its srun starts the agents. This one passes on whole lines only,
// as the real one does.
func TestSrun(t *testing.T) {
	r, homes := fakeHostsAt(t, "where", "a", "b")
	dir := t.TempDir()
	const script = `#!/bin/sh
for arg; do
	shift
	case $arg in
	--nodelist=*) export FAKE_HOST=${arg#*=} HOME=HOMES/${arg#*=} ;;
	--) break ;;
	esac
done
mkdir -p $HOME
"$@" | LINES
`
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	lines := filepath.Join(dir, "lines")
	text := strings.NewReplacer("HOMES", homes, "LINES", lines).Replace(script)
	executable.Write(t, filepath.Join(dir, "srun"), text)
	if err := os.Symlink(exe, lines); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	r.Remote = "srun"
	code, out, said := execute(t, r, Config{Tag: true})
	if code != 0 || said != "" || !strings.Contains(out, "[1] rank 1 of 2 on b: local 0 of 1, remote true") {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
}

func TestAcrossStdin(t *testing.T) {
	in, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	text := strings.Repeat("all of it comes, in order\n", 40000)
	if _, err := in.WriteString(text); err != nil {
		t.Fatal(err)
	}
	in.Seek(0, 0)
	if code, out, said := execute(t, fakeHosts(t, "cat", "a", "b"), Config{Stdin: in}); code != 0 || out != text {
		t.Errorf("exit code %d, %d of %d bytes came back: %s", code, len(out), len(text), said)
	}
	in.Seek(0, 0)
	if code, out, said := execute(t, fakeHosts(t, "where", "a", "b"), Config{Stdin: in}); code != 0 || strings.Count(out, "\n") != 2 {
		t.Errorf("nobody reads it: exit code %d, %q, %s", code, out, said)
	}
	if code, out, said := execute(t, fakeHosts(t, "cat", "a", "b"), Config{}); code != 0 || out != "" {
		t.Errorf("without: exit code %d, %q, %s", code, out, said)
	}
}

func TestSecretStaysSecret(t *testing.T) {
	if code, out, said := execute(t, fakeHosts(t, "secret", "a", "b"), Config{}); code != 0 || out != "" {
		t.Errorf("exit code %d, %q, %s", code, out, said)
	}
}

// Hosts are reached through others where they are many; what goes wrong behind one is told as
// elsewhere.
func TestTree(t *testing.T) {
	effort.Need(t, effort.Usual, "it starts many agents")
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	r := fakeHosts(t, "where", names...)
	r.FanOut = 2
	code, out, said := execute(t, r, Config{Tag: true})
	if code != 0 || said != "" || strings.Count(out, "\n") != len(names) || !strings.Contains(out, "[6] rank 6 of 7 on g") {
		t.Errorf("exit code %d\n%s\n%s", code, out, said)
	}
	r = fakeHosts(t, "where", "a", "b", "c", "down", "e")
	r.FanOut = 2
	if code, _, said := execute(t, r, Config{}); code != ExitError || said != "fitrun: host down: ssh: connect to host down port 22: Connection refused; no rank was started\n" {
		t.Errorf("exit code %d, it said %q", code, said)
	}
	r = fakeHosts(t, "kill 3", "a", "b", "c", "d")
	r.FanOut = 1
	if code, _, said := execute(t, r, Config{}); code != ExitError || !strings.Contains(said, "fitrun: host d: ssh ended with signal: killed; with it rank 3;") {
		t.Errorf("exit code %d, it said %q", code, said)
	}
}

// TestSlowReader: a reader that does not read the output holds up the ranks that write it, and
// nothing else. The failure of another rank is heard.
func TestSlowReader(t *testing.T) {
	r := fakeHosts(t, "flood", "a", "b", "c")
	heard := make(chan struct{})
	var said watchedWriter
	said.seenc, said.want = heard, 1
	code := Execute(t.Context(), r, Config{Stdout: stuckWriter{heard}, Stderr: &said})
	if code != 4 || !strings.Contains(said.b.String(), "exited with code 4") {
		t.Errorf("exit code %d, it said %q", code, said.b.String())
	}
}

// stuckWriter takes nothing until the channel is closed.
type stuckWriter struct{ until <-chan struct{} }

func (w stuckWriter) Write(p []byte) (int, error) {
	<-w.until
	return len(p), nil
}

// A binary of another architecture is refused, and both are named.
func TestForeignBinary(t *testing.T) {
	r := fakeHosts(t, "where", "a")
	b, err := os.ReadFile(r.Apps[0].Program.Path)
	if err != nil {
		t.Fatal(err)
	}
	const machine = 18 // offset in an ELF header
	binary.NativeEndian.PutUint16(b[machine:], uint16(elf.EM_RISCV))
	r.Apps[0].Program = Program{Name: "./foreign", Path: filepath.Join(t.TempDir(), "foreign")}
	executable.Write(t, r.Apps[0].Program.Path, string(b))
	code, _, said := execute(t, r, Config{})
	if want := "fitrun: host a: ./foreign is built for riscv64, and this host is " + runtime.GOARCH + ";"; code != ExitError || !strings.HasPrefix(said, want) {
		t.Errorf("exit code %d, it said %q, want %q", code, said, want)
	}
}

// fitrun is copied to a host once.
func TestCopiedOnce(t *testing.T) {
	r, homes := fakeHostsAt(t, "where", "a")
	var first os.FileInfo
	for range 2 {
		if code, _, said := execute(t, r, Config{}); code != 0 {
			t.Fatalf("exit code %d, it said %q", code, said)
		}
		copies, err := filepath.Glob(filepath.Join(homes, "a/.cache/fitmpi/*/*"))
		if err != nil || len(copies) != 1 || filepath.Base(copies[0]) != "fitrun" {
			t.Fatalf("copies %q, %v; want one", copies, err)
		}
		st, err := os.Stat(copies[0])
		if err != nil || st.Mode().Perm() != 0o700 {
			t.Fatalf("%v %v", st.Mode(), err)
		}
		if first != nil && (!os.SameFile(first, st) || !first.ModTime().Equal(st.ModTime())) {
			t.Error("it was copied again")
		}
		first = st
	}
}

// TestOtherThere: a program or a directory that is not the same on other hosts is said, with what
// would help.
func TestOtherThere(t *testing.T) {
	var said strings.Builder
	a := &across{r: Request{Apps: []App{{Program: Program{Path: "/bin/prog"}}}}, used: []hosts.Host{{Name: "a"}, {Name: "b"}, {Name: "c", User: "u"}},
		cfg: Config{Stderr: &said}}
	a.warn(map[int][]agent.Found{1: {{Other: true, NoDir: true}}, 2: {{Other: true}}}, "/work")
	const want = "fitrun: /bin/prog is not the same file on b, u@c, and is run as it is there; --preload copies the one of this machine\n" +
		"fitrun: there is no directory /work on b; ranks start in the home directory there\n"
	if said.String() != want {
		t.Errorf("%q, want %q", said.String(), want)
	}
}
