//go:build linux

package agent

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Target is a host to be reached.
type Target struct {
	Host  int    // index in the job
	Name  string // a name or an address
	User  string // "" is the way's choice
	Port  int    // 0 is the way's choice
	Agent bool   // an agent listens there
}

// String is t as messages name it.
func (t Target) String() string {
	if t.User != "" {
		return t.User + "@" + t.Name
	}
	return t.Name
}

// Way is how hosts are reached: the command that runs another one there.
type Way struct {
	Kind    string   // "" or "ssh", or "srun" inside an allocation of Slurm's
	Command []string // the program and its first arguments; nil is the kind's name
	Args    []string // further options, before the host
	Secret  []byte   `json:"-"` // shared with agents that listen; fitrun's own
}

// command is what runs script by a shell on t. The script has no single quotes.
func (w Way) command(t Target, script string, timeout time.Duration) (*exec.Cmd, error) {
	argv := slices.Clone(w.Command)
	switch w.Kind {
	case "", "ssh":
		if len(argv) == 0 {
			argv = []string{"ssh"}
		}
		argv = append(argv, w.Args...)
		// The first value of an option counts, so the user's come first. Nothing may ask: no
		// terminal is at hand. A master connection that is there is used, but none is left behind.
		// The user's forwardings are not for us. ssh is to give up before we do, as it knows why.
		argv = append(argv, "-T", "-x", "-o", "BatchMode=yes", "-o", "ControlMaster=no", "-o", "ClearAllForwardings=yes",
			"-o", "RemoteCommand=none", "-o", "ConnectTimeout="+strconv.Itoa(max(1, int(timeout.Seconds()*3/4))))
		if t.Port != 0 {
			argv = append(argv, "-p", strconv.Itoa(t.Port))
		}
		if t.User != "" {
			argv = append(argv, "-l", t.User)
		}
		argv = append(argv, "--", t.Name, "exec sh -c '"+script+"'")
	case "srun":
		if len(argv) == 0 {
			argv = []string{"srun"}
		}
		argv = append(argv, w.Args...)
		argv = append(argv, "--nodes=1", "--ntasks=1", "--nodelist="+t.Name, "--overlap", "--cpu-bind=none", "--mpi=none", "--", "sh", "-c", script)
	default:
		return nil, fmt.Errorf("there is no way %q to reach a host; there are ssh and srun", w.Kind)
	}
	if strings.HasPrefix(t.Name, "-") {
		return nil, fmt.Errorf("%s is no name of a host", t.Name)
	}
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, fmt.Errorf("%s: not found in PATH; hosts are reached by it", argv[0])
	}
	return &exec.Cmd{Path: path, Args: argv}, nil
}
