//go:build linux

package launch

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// MaxRanks is the largest number of ranks that one job may have.
const MaxRanks = 1 << 16

// Request is what a user asked for, already checked for syntax.
type Request struct {
	Ranks     int
	Path      string        // absolute path of the binary
	Args      []string      // argument vector, the program's name first
	Env       []string      // environment that all ranks start from, as of os.Environ
	Set       []string      // NAME=VALUE on top of Env
	Dir       string        // absolute working directory of the ranks; "" is fitrun's own
	Cores     int           // cores of this machine that the job may use
	Progress  string        // "" or a value for FITMPI_PROGRESS
	Transport string        // "" or a value for FITMPI_TRANSPORT
	Metrics   string        // "" or host:port
	Timeout   time.Duration // 0 is none
}

// Job is the plan of a job. It is immutable.
type Job struct {
	Ranks   []Rank // by rank
	Timeout time.Duration
}

// Rank is the plan of one rank: what it is told, and how it is started.
type Rank struct {
	boot.Info
	Path string
	Args []string
	Env  []string // without boot.FDVariable, which only the starter knows
	Dir  string
}

// Plan lays out the ranks of r on this machine.
//
// The rule for cores: the C cores of the machine are divided evenly, so each of N ranks is given max(1, floor(C/N)). No
// rank is pinned. GOMAXPROCS is set to the rank's cores plus 1, unless the user set it: a rank's worker needs a P of its
// own, or it waits up to 10 ms for the scheduler when goroutines compute on all the others.
func Plan(r Request) (*Job, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("asking for this machine's name: %w", err)
	}
	id, secret := boot.NewJob()
	cores := coresPerRank(r.Cores, r.Ranks)
	env := rankEnv(r, cores)
	job := &Job{Timeout: r.Timeout}
	for n := range r.Ranks {
		addr, err := metricsAddr(r.Metrics, n)
		if err != nil {
			return nil, err
		}
		job.Ranks = append(job.Ranks, Rank{
			Info: boot.Info{
				Rank: n, Size: r.Ranks, LocalRank: n, LocalSize: r.Ranks, Job: id, Secret: secret,
				Source: "fitrun", Host: host, Cores: cores, MetricsAddr: addr, MetricsRequested: addr != "",
			},
			Path: r.Path, Args: r.Args, Env: env, Dir: r.Dir,
		})
	}
	return job, nil
}

func coresPerRank(cores, ranks int) int { return max(1, cores/ranks) }

// rankEnv is the environment of every rank.
func rankEnv(r Request, cores int) []string {
	env := slices.DeleteFunc(slices.Clone(r.Env), func(e string) bool {
		return strings.HasPrefix(e, boot.FDVariable+"=") // of a fitrun around this one
	})
	if r.Dir != "" {
		env = append(env, "PWD="+r.Dir)
	}
	env = append(env, r.Set...)
	if !hasVariable(env, "GOMAXPROCS") {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(cores+1))
	}
	if r.Progress != "" {
		env = append(env, "FITMPI_PROGRESS="+r.Progress)
	}
	if r.Transport != "" {
		env = append(env, "FITMPI_TRANSPORT="+r.Transport)
	}
	return env
}

func hasVariable(env []string, name string) bool {
	return slices.ContainsFunc(env, func(e string) bool {
		value, ok := strings.CutPrefix(e, name+"=")
		return ok && value != ""
	})
}

// metricsAddr is the address for one rank: port+rank, or any port for each if port is 0.
func metricsAddr(addr string, rank int) (string, error) {
	if addr == "" {
		return "", nil
	}
	host, portText, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("--metrics %s: want HOST:PORT, for example 127.0.0.1:9100", addr)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", fmt.Errorf("--metrics %s: the port must be a number from 0 to 65535", addr)
	}
	if port != 0 {
		port += uint64(rank)
	}
	if port > 65535 {
		return "", fmt.Errorf("--metrics %s: rank %d would need port %d; choose a lower port, or 0 for any", addr, rank, port)
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}
