//go:build linux

package launch

import (
	"cmp"
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
	Ranks      int
	PerProcess int           // ranks of one process; the last may have fewer. 0 is 1
	Path       string        // absolute path of the binary
	Args       []string      // argument vector, the program's name first
	Env        []string      // environment that all ranks start from, as of os.Environ
	Set        []string      // NAME=VALUE on top of Env
	Dir        string        // absolute working directory of the ranks; "" is fitrun's own
	Cores      int           // cores of this machine that the job may use
	CPUs       []int         // the processors that fitrun may run on, ascending; more than Cores under a cgroup's limit
	Bind       Binding       // whether processes are bound to their cores
	Progress   string        // "" or a value for FITMPI_PROGRESS
	Transport  string        // "" or a value for FITMPI_TRANSPORT
	Check      bool          // sets FITMPI_CHECK
	Metrics    string        // "" or host:port
	Timeout    time.Duration // 0 is none
}

// Job is the plan of a job. It is immutable.
type Job struct {
	Ranks     []Rank    // by rank
	Processes []Process // in the order of their ranks
	Timeout   time.Duration
	Transport string // the FITMPI_TRANSPORT of the ranks, "auto" if they have none
}

// Rank is the plan of one rank: what it is told, but for the descriptors, which only the runner has.
type Rank struct {
	boot.Info
	proc int // index in Job.Processes
}

// Process is the plan of one process: which ranks it holds, and how it is started.
type Process struct {
	First, Ranks int    // it holds the ranks First to First+Ranks-1
	Host         string // as in Info
	Cores        int    // of all its ranks together, at most those of the machine
	Bound        []int  // processors it is bound to; nil if it is not
	Path         string
	Args         []string
	Env          []string // without boot.FDVariable, which only the starter knows
	Dir          string
}

// list is the ranks that p holds.
func (p *Process) list() []int {
	ranks := make([]int, p.Ranks)
	for i := range ranks {
		ranks[i] = p.First + i
	}
	return ranks
}

// Plan lays out the ranks of r on this machine.
//
// The rule for cores: the C cores of the machine are divided evenly, so each of N ranks is given max(1, floor(C/N)), and
// a process those of its ranks, but no more than there are; bind.go says when it is bound to them. GOMAXPROCS of a process is set to its cores plus
// its ranks, unless the user set it: a rank's worker needs a P of its own, or it waits up to 10 ms for the scheduler when
// goroutines compute on all the others.
func Plan(r Request) (*Job, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("asking for this machine's name: %w", err)
	}
	job := &Job{Timeout: r.Timeout, Transport: transportOf(r)}
	if job.Processes, err = planProcesses(r, host); err != nil {
		return nil, err
	}
	id, secret := boot.NewJob()
	share := coresPerRank(r.Cores, r.Ranks)
	for i := range job.Processes {
		p := &job.Processes[i]
		for _, n := range p.list() {
			addr, err := metricsAddr(r.Metrics, n)
			if err != nil {
				return nil, err
			}
			job.Ranks = append(job.Ranks, Rank{proc: i, Info: boot.Info{
				Rank: n, Size: r.Ranks, LocalRank: n, LocalSize: r.Ranks, Job: id, Secret: secret,
				Source: "fitrun", Host: host, Cores: share, Universe: max(r.Cores, r.Ranks), MetricsAddr: addr, MetricsRequested: addr != "",
				Process: i, ProcessRanks: p.Ranks, Bound: p.Bound,
			}})
		}
	}
	return job, nil
}

// planProcesses divides the ranks among processes, and the cores among them.
func planProcesses(r Request, host string) ([]Process, error) {
	share := coresPerRank(r.Cores, r.Ranks)
	bind, err := r.isBound(share)
	if err != nil {
		return nil, err
	}
	var procs []Process
	for first := 0; first < r.Ranks; first += max(r.PerProcess, 1) {
		ranks := min(max(r.PerProcess, 1), r.Ranks-first)
		p := Process{
			First: first, Ranks: ranks, Host: host, Cores: min(share*ranks, max(r.Cores, 1)),
			Path: r.Path, Args: r.Args, Dir: r.Dir,
		}
		p.Env = processEnv(r, p.Cores+ranks)
		if bind {
			p.Bound = r.CPUs[first*share : (first+ranks)*share : (first+ranks)*share]
		}
		procs = append(procs, p)
	}
	return procs, nil
}

func coresPerRank(cores, ranks int) int { return max(1, cores/ranks) }

// processEnv is the environment of a process that is to have so many of the Go runtime's Ps.
func processEnv(r Request, maxprocs int) []string {
	env := slices.DeleteFunc(slices.Clone(r.Env), func(e string) bool {
		return strings.HasPrefix(e, boot.FDVariable+"=") // of a fitrun around this one
	})
	if r.Dir != "" {
		env = append(env, "PWD="+r.Dir)
	}
	env = append(env, r.Set...)
	if !hasVariable(env, "GOMAXPROCS") {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(maxprocs))
	}
	if r.Progress != "" {
		env = append(env, "FITMPI_PROGRESS="+r.Progress)
	}
	if r.Transport != "" {
		env = append(env, transportVariable+"="+r.Transport)
	}
	if r.Check {
		env = append(env, "FITMPI_CHECK=1")
	}
	return env
}

const transportVariable = "FITMPI_TRANSPORT"

// transportOf is the transport that the ranks will be told: by the option, or by a variable that they are given.
func transportOf(r Request) string {
	found := r.Transport
	for _, e := range slices.Backward(slices.Concat(r.Env, r.Set)) {
		if v, ok := strings.CutPrefix(e, transportVariable+"="); ok && found == "" {
			found = v
		}
	}
	return cmp.Or(found, "auto")
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
