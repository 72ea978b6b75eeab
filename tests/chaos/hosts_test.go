//go:build linux

package chaos

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/executable"
)

// What stands for hosts: this machine under two names, with an agent for each, which fitrun reaches
// by something that looks like ssh, or by TCP. Ranks of different hosts share no memory then, and
// what fitrun knows of them it hears from agents.

// sshScript runs the command that it is to run on a host. Its first and last processes are the
// connection.
const sshScript = "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift 2\ncat | sh -c \"$*\" | cat\n"

// firstHost is how many ranks are on the first of two hosts.
func (p *plan) firstHost() int { return (p.ranks + 1) / 2 }

// hostArgs makes the hosts of a run, and returns the options of fitrun for them. All variables of
// env that are ours go along.
func (r *run) hostArgs(t *testing.T, env []string) (args, more []string) {
	t.Helper()
	first, second := r.plan.firstHost(), r.plan.ranks-r.plan.firstHost()
	switch r.plan.hosts {
	case "":
		return nil, env
	case "ssh":
		ssh := filepath.Join(r.dir, "ssh")
		executable.Write(t, ssh, sshScript)
		env = append(env, "FITMPI_SSH="+ssh)
		args = []string{"-H", fmt.Sprintf("a:%d,b:%d", first, second)}
	case "agent":
		secret, file := filepath.Join(r.dir, "secret"), filepath.Join(r.dir, "hosts")
		if err := os.WriteFile(secret, []byte(rand.Text()+rand.Text()), 0o600); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("127.0.0.1 agent port=%d slots=%d\n127.0.0.2 agent port=%d slots=%d\n",
			r.listen(t, env, secret, "127.0.0.1:0"), first, r.listen(t, env, secret, "127.0.0.2:0"), second)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = []string{"--hostfile", file, "--secret-file", secret}
	}
	args = append(args, "--iface", "127.0.0.1", "--launch-timeout", r.plan.start.String())
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "FITMPI_") && name != "FITMPI_SSH" || name == "GOTRACEBACK" {
			args = append(args, "-x", name)
		}
	}
	return args, env
}

// listen starts an agent that listens, and returns its port.
func (r *run) listen(t *testing.T, env []string, secret, addr string) int {
	t.Helper()
	cmd := exec.Command(fitrunPath(t), "agent", "--listen", addr, "--secret-file", secret)
	cmd.Env = append(os.Environ(), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r.agents = append(r.agents, cmd)
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	m := regexp.MustCompile(`address=127\.0\.0\.\d:(\d+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("an agent says %q, %v", line, err)
	}
	r.readers.Go(func() { lines.WriteTo(r) }) // until the agent ends
	port, _ := strconv.Atoi(m[1])
	return port
}

// endAgents ends those that listen. What they have started must end with that.
func (r *run) endAgents() {
	for _, cmd := range r.agents {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Process.Signal(syscall.SIGCONT)
	}
	r.readers.Wait()
	for _, cmd := range r.agents {
		cmd.Wait()
	}
	r.agents = nil
}

// Write takes what agents that listen say.
func (r *run) Write(b []byte) (int, error) {
	r.agentsMu.Lock()
	defer r.agentsMu.Unlock()
	return r.agentsSaid.Write(b)
}

// agentOf is the process that has started a rank on its host, 0 if there is none.
func (r *run) agentOf(rank int) int { return parentOf(r.control.pid(rank)) }

// loseHost kills the agent of a rank's host, or what connects fitrun with that, and all ranks there
// are dead.
func (r *run) loseHost(rank int, what string) bool {
	pid := r.agentOf(rank)
	if pid == 0 {
		return false
	}
	host := 0
	if rank >= r.plan.firstHost() {
		host = 1
	}
	var victims []int
	switch {
	case what == "agent":
		victims = []int{pid}
	case r.plan.hosts == "agent":
		victims = []int{r.agents[host].Process.Pid}
	default: // the processes between which the agent is, in a pipeline
		for ; pid > 1 && !strings.Contains(commandOf(pid), filepath.Join(r.dir, "ssh")); pid = parentOf(pid) {
		}
		for _, q := range r.before.processes(r.mark) {
			if parentOf(q) == pid && commandOf(q) == "cat" {
				victims = append(victims, q)
			}
		}
	}
	for _, v := range victims {
		syscall.Kill(v, syscall.SIGKILL)
	}
	r.hostLost = r.hostLost || len(victims) > 0
	for q := range r.plan.ranks {
		if (q < r.plan.firstHost()) == (host == 0) && len(victims) > 0 {
			r.dies(q)
		}
	}
	return len(victims) > 0
}

// parentOf is the parent of a process, 0 if that is not known.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // the name may contain anything
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// commandOf is the command line of a process.
func commandOf(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}
