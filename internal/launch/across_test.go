//go:build linux

package launch

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// fakeSSH is a command that does what ssh does, on this machine: each host has a home of its own, and those whose names
// begin with "down" cannot be reached. It is for what needs no network; the tests in cmd/fitrun have the real one.
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
esac
mkdir -p "$FAKE_HOMES/$host"
export HOME="$FAKE_HOMES/$host" FAKE_HOST="$host"
unset XDG_CACHE_HOME
exec sh -c "$*"
`

// fleet is a request for ranks on hosts that are reached by fakeSSH.
func fakeHosts(t *testing.T, act string, names ...string) Request {
	t.Helper()
	dir := t.TempDir()
	ssh := filepath.Join(dir, "ssh")
	if err := os.WriteFile(ssh, []byte(fakeSSH), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("FAKE_HOMES", dir)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	r := Request{
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
	return r
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
