//go:build linux

package launch

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/plain"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// progressAfter is how long reaching hosts and starting ranks may take in silence, and how often it
// is told from then on.
const progressAfter = time.Second

// sshVariable names the environment variable with the command that reaches hosts, in place of ssh.
const sshVariable = "FITMPI_SSH"

// across is a job on several hosts on its way to be run.
type across struct {
	r          Request
	cfg        Config
	used       []hosts.Host // those that have ranks; r.Place counts in them
	candidates []int        // of a request that goes by load: indices in r.Hosts, in the order of its Place
	local      []bool       // by used: it is this machine
	client     []int        // by used, but for this machine: which of the fleet it is
	fleet      *agent.Fleet // of the others
	builds     *builds
	signal     atomic.Int32 // the signal that came, 0 if none
	progress   *progress

	sayMu sync.Mutex // one message at a time, until a runner speaks
}

// say shows a message.
func (a *across) say(format string, args ...any) {
	a.sayMu.Lock()
	defer a.sayMu.Unlock()
	io.WriteString(Folded(a.cfg.Stderr), message(a.cfg.prefix()+fmt.Sprintf(format, args...)))
}

// executeAcross is executeOnce for a request that names hosts.
func executeAcross(ctx context.Context, r Request, cfg Config) outcome {
	a := &across{cfg: cfg, builds: newBuilds(cfg)}
	defer a.builds.close()
	a.candidates = r.Place
	a.r, a.used = onlyUsed(r)
	if err := r.Domains.Check(a.used); err != nil {
		a.say("%v", err)
		return outcome{code: ExitUsage}
	}
	var targets []agent.Target
	for i, h := range a.used {
		a.local, a.client = append(a.local, isHere(h)), append(a.client, i)
		if !a.local[i] {
			targets = append(targets, agent.Target{Host: i, Name: h.Name, User: h.User, Port: h.Port, Agent: h.Agent})
		}
	}
	a.fleet = agent.NewFleet(targets, agent.Config{
		Way:    agent.Way{Kind: r.Remote, Command: a.command(), Args: r.SSHArgs, Secret: r.Secret},
		FanOut: orDefault(r.FanOut, DefaultFanOut), Silence: orDefault(r.Silence, DefaultSilence),
		Binary: a.builds.fitrun, Guard: cfg.Guard,
	})
	defer a.fleet.Close()
	a.progress = newProgress(cfg)
	sites, err := a.interruptible(ctx, len(targets))
	switch {
	case a.signal.Load() != 0:
		sig := syscall.Signal(a.signal.Load())
		a.say("%v", sig)
		return outcome{code: 128 + int(sig)}
	case err != nil && cfg.outer != nil: // the ranks that have ordered it hear of it
		return outcome{refused: err.Error()}
	case err != nil:
		a.say("%v; no rank was started", err)
		return outcome{code: ExitError, again: r.Attempt > 0, why: err.Error()} // what it failed of may be what is wrong with the host
	}
	job, err := plan(a.r, sites)
	if err != nil && cfg.outer != nil {
		return outcome{refused: err.Error()}
	}
	if err != nil {
		a.say("%v", err)
		return outcome{code: ExitUsage}
	}
	a.describe(job, sites)
	return a.run(ctx, job)
}

func orDefault[T int | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// command is what reaches hosts in place of ssh, nil for ssh itself.
func (a *across) command() []string {
	if a.r.Remote != "" && a.r.Remote != "ssh" {
		return nil
	}
	for _, e := range slices.Backward(a.r.Env) {
		if v, ok := strings.CutPrefix(e, sshVariable+"="); ok {
			return strings.Fields(v)
		}
	}
	return nil
}

// onlyUsed leaves out the hosts without ranks, and takes several names of this machine for one: its
// cores are there once.
func onlyUsed(r Request) (Request, []hosts.Host) {
	var used []hosts.Host
	index := make(map[int]int)   // in used, by index in r.Hosts
	here := make(map[string]int) // in used, by domain: this machine
	r.Place = slices.Clone(r.Place)
	for rank, at := range r.Place {
		if _, ok := index[at]; !ok {
			i, h := len(used), r.Hosts[at]
			if isHere(h) {
				if first, ok := here[h.Domain]; ok {
					i = first
				}
				here[h.Domain] = i
			}
			if index[at] = i; i == len(used) {
				used = append(used, h)
			}
		}
		r.Place[rank] = index[at]
	}
	return r, used
}

// isHere reports whether h is this machine, which needs no agent.
func isHere(h hosts.Host) bool {
	if h.User != "" || h.Port != 0 || h.Agent {
		return false
	}
	name := strings.ToLower(h.Name)
	own := strings.ToLower(sys.Hostname())
	if name == "localhost" || name == own || name == strings.SplitN(own, ".", 2)[0] {
		return true
	}
	ip := net.ParseIP(name)
	if ip == nil {
		return false
	}
	addrs, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(addrs, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// interruptible is sites, unless a signal comes.
func (a *across) interruptible(ctx context.Context, remote int) ([]site, error) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	wg.Go(func() {
		select {
		case sig := <-a.cfg.Signals:
			a.signal.Store(int32(sig.(syscall.Signal)))
			cancel()
		case <-ctx.Done():
		}
	})
	return a.sites(ctx, remote)
}

// sites reaches all hosts, and makes the programs of the job be there.
func (a *across) sites(ctx context.Context, remote int) ([]site, error) {
	var reached atomic.Int64
	a.progress.begin(func(text string) { a.say("%s", text) }, func() string {
		return fmt.Sprintf("%d of %d hosts reached%s", reached.Load(), remote, a.builds.now())
	})
	defer a.progress.stop()
	err := a.fleet.Reach(ctx, orDefault(a.r.LaunchTimeout, DefaultLaunchTimeout), func(n int) { reached.Store(int64(n)) })
	if err != nil {
		return nil, err
	}
	a.mergeNames()
	if err := a.placeByLoad(); err != nil {
		return nil, err
	}
	found, err := a.prepare(ctx)
	if err != nil {
		return nil, err
	}
	var sites []site
	for i, h := range a.used {
		if a.local[i] {
			a.tell(h, agent.Facts{Hostname: sys.Hostname(), Arch: runtime.GOARCH, Cores: a.r.Cores, Use: agent.UseHere()})
			sites = append(sites, site{name: h.String(), at: h, host: sys.Hostname(), machine: sys.BootID(), cores: a.r.Cores, cpus: a.r.CPUs, env: a.r.Env})
			continue
		}
		f := a.agentOf(i).Facts()
		sites = append(sites, site{
			name: h.String(), at: h, host: f.Hostname, machine: f.BootID, cores: f.Cores, cpus: f.CPUs, env: a.environment(f.Env), apps: found[i],
		})
		a.tell(h, f)
	}
	a.tellMachines(sites)
	return sites, nil
}

// agentOf is the agent of a used host that is not this machine.
func (a *across) agentOf(i int) *agent.Client { return a.fleet.Client(a.client[i]) }

// tell says with --verbose what a host is.
func (a *across) tell(h hosts.Host, f agent.Facts) {
	if a.cfg.Verbose {
		a.say("host %s: %s, %s, %s, %v", h, f.Hostname, f.Arch, plain.Count(f.Cores, "core"), f.Use)
	}
}

// environment is what ranks of another host start from: its own, and what of ours is FitMPI's.
func (a *across) environment(theirs []string) []string {
	env := slices.Clone(theirs)
	for _, e := range a.r.Env {
		if strings.HasPrefix(e, "FITMPI_") && !strings.HasPrefix(e, sshVariable+"=") {
			env = append(env, e)
		}
	}
	return env
}

// prepare makes the programs be on all other hosts. The result is by host and app.
func (a *across) prepare(ctx context.Context) (map[int][]agent.Found, error) {
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	want, files := make(map[int][]agent.Program), make(map[string]string)
	for i := range a.used {
		if a.local[i] {
			continue
		}
		for _, app := range a.r.Apps {
			p, file, err := a.builds.program(ctx, app, a.agentOf(i).Facts().Arch)
			if err != nil {
				return nil, err
			}
			p.Preload, p.Dir, p.MustDir = a.r.Preload, app.Dir, app.Dir != ""
			if app.Dir == "" {
				p.Dir = here
			}
			files[p.Sum] = file
			want[i] = append(want[i], p)
		}
	}
	found, err := a.fleet.Prepare(ctx, want, files)
	if err != nil {
		return nil, err
	}
	a.warn(found, here)
	return found, nil
}

// warn says where programs or directories are not what they are here.
func (a *across) warn(found map[int][]agent.Found, here string) {
	for k, app := range a.r.Apps {
		var others, noDir []string
		for i, h := range a.used {
			if apps := found[i]; apps != nil && apps[k].Other {
				others = append(others, h.String())
			}
			if apps := found[i]; apps != nil && apps[k].NoDir {
				noDir = append(noDir, h.String())
			}
		}
		if len(others) > 0 {
			a.say("%s is not the same file on %s, and is run as it is there; --preload copies the one of this machine",
				app.Program.Path, strings.Join(others, ", "))
		}
		if len(noDir) > 0 && k == 0 {
			a.say("there is no directory %s on %s; ranks start in the home directory there", here, strings.Join(noDir, ", "))
		}
	}
}

// describe says what will be run where, if it was asked for.
func (a *across) describe(job *Job, sites []site) {
	if a.cfg.Verbose {
		a.say("%s in %s on %s", plain.Count(len(job.Ranks), "rank"), plain.Count(len(job.Processes), "process"), plain.Count(len(sites), "host"))
	}
	job.showBindings(a.cfg)
}

// run runs the job on all hosts.
func (a *across) run(ctx context.Context, job *Job) outcome {
	x := newRunner(job, a.cfg)
	if err := x.makeOutputDirs(); err != nil {
		a.say("%v", err)
		return outcome{code: ExitError}
	}
	var all []host
	for i := range a.used {
		if !a.local[i] {
			c := a.agentOf(i)
			plan := job.crewPlan(i)
			c.Plan(plan, len(job.Ranks), &events{x: x, site: i, draining: new(atomic.Bool)})
			all = append(all, c)
			continue
		}
		h, err := x.newHere(i)
		if err != nil {
			a.say("%v", err)
			return outcome{code: ExitError}
		}
		all = append(all, h)
	}
	x.spared, x.fleet = a.fleet.PIDs(), a.fleet
	x.progress = a.progress
	x.progress.begin(x.say, func() string {
		n := x.startedRanks.Load()
		if int(n) == len(job.Ranks) {
			return ""
		}
		return fmt.Sprintf("%d of %d ranks started", n, len(job.Ranks))
	})
	first := a.lookAtClocks()
	out := x.run(ctx, all)
	a.tellUse()
	a.fitClocks(first, a.lookAtClocks())
	return out
}

// tellUse says with --verbose how busy each host is when nothing of the job is left there: beside
// what tell has said, what others do on it shows, and what a job has left in its memory.
func (a *across) tellUse() {
	if !a.cfg.Verbose {
		return
	}
	for i, h := range a.used {
		if a.local[i] {
			a.say("host %s, at the end: %v", h, agent.UseHere())
		} else if use := a.agentOf(i).Use(); use != nil { // it has come to its end
			a.say("host %s, at the end: %v", h, use)
		}
	}
}
