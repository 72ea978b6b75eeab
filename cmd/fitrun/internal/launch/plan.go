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

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/agent"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/params"
)

// MaxRanks is the largest number of ranks that one job may have.
const MaxRanks = 1 << 16

// App is one program of a job, with so many ranks of its own. Most jobs have one.
type App struct {
	Program    Program  // built: Path is that of the binary; Package stays, for hosts of another architecture
	Args       []string // argument vector, the program's name first
	Set        []string // NAME=VALUE on top of the environment
	Dir        string   // absolute working directory of its ranks; "" is fitrun's own
	SearchPath string   // directories in which hosts look for a program that was given without a path, as of PATH; "" is none
	Libraries  string   // a directory for the end of LD_LIBRARY_PATH, "" is none
	Ranks      int      // at least 1; they follow those of the apps before it
}

// Request is what a user asked for, already checked for syntax.
type Request struct {
	Apps       []App        // at least one
	Hosts      []hosts.Host // where ranks may run; nil is this machine only
	Place      []int        // by rank: index in Hosts; nil with no Hosts. With ByLoad: the hosts that may be used, each once
	ByLoad     Placing      `json:"-"` // nil unless ranks are placed by the load of hosts
	PerProcess int          // ranks of one process; the last of an app on a host may have fewer. 0 is 1
	Env        []string     // environment that all ranks of this machine start from, as of os.Environ
	Cores      int          // cores of this machine that the job may use
	CPUs       []int        // the processors that fitrun may run on, ascending; more than Cores under a cgroup's limit
	Bind       Binding      // whether processes are bound to their cores
	Progress   string       // "" or a value for FITMPI_PROGRESS
	Transport  string       // "" or a value for FITMPI_TRANSPORT
	Heartbeat  string       // "" or a value for FITMPI_HEARTBEAT
	// HeartbeatTimeout is "" or a value for FITMPI_HEARTBEAT_TIMEOUT.
	HeartbeatTimeout string
	Check            bool          // sets FITMPI_CHECK
	HTTPAuth         string        // sets FITMPI_HTTP_AUTH; "" leaves it
	HTTPOpen         bool          // sets FITMPI_HTTP_OPEN
	Metrics          string        // "" or host:port
	Timeout          time.Duration // 0 is none
	FT               bool          // the job goes on when a rank dies, once all have met
	Restarts         int           // how often the job is started again if it fails
	Checkpoint       string        // "" or a value for FITMPI_CHECKPOINT
	Attempt          int           // how often the job was started before
	Beside           int           // so many ranks of other jobs share the cores
	Kin              boot.Kin      // of a job that was spawned
	Watched          bool          // ranks give their counters when they finalize: the observer of the job wants them
	Trace            int64         // bytes of memory, as of trace.Size, in which each rank notes what it does; 0 if it need not. Config.Tracer is given it

	Remote        string        // how a host is reached: "" or "ssh", or "srun" inside an allocation of Slurm's
	SSHArgs       []string      // options given to ssh (or srun) before the host
	FanOut        int           // most hosts that fitrun and each agent reach themselves; 0 is DefaultFanOut
	Preload       bool          // copy programs to hosts also where they have another file of that path
	LaunchTimeout time.Duration // until every host must be reached; 0 is DefaultLaunchTimeout
	Silence       time.Duration // a host that says nothing for so long is lost; 0 is DefaultSilence
	Secret        []byte        // shared with agents that listen on hosts; nil if there are none
	Net           boot.Net      // what ranks are told of the network; Remote, unless it is set, and what follows from Domains is set by the plan
	Domains       Domains       // how the domains of the hosts are joined
}

// Defaults of a Request.
const (
	DefaultFanOut        = 32
	DefaultLaunchTimeout = 60 * time.Second
	DefaultSilence       = 20 * time.Second
)

// Ranks is the number of ranks of all apps.
func (r *Request) Ranks() int {
	n := 0
	for _, a := range r.Apps {
		n += a.Ranks
	}
	return n
}

// mayLeave reports whether the user has named several hosts, to which ranks may spawn others that
// reach them, wherever the first are.
func (r *Request) mayLeave() bool {
	return slices.ContainsFunc(r.Hosts, func(h hosts.Host) bool { return keyOf(h) != keyOf(r.Hosts[0]) })
}

// keyOf is the same for the names of this machine.
func keyOf(h hosts.Host) string {
	if isHere(h) {
		return ""
	}
	return h.Name
}

// keys are those of the hosts that have ranks.
func (r *Request) keys() map[string]bool {
	keys := make(map[string]bool)
	if r.Hosts == nil {
		keys[""] = true
	}
	for _, at := range r.Place {
		keys[keyOf(r.Hosts[at])] = true
	}
	return keys
}

// Job is the plan of a job. It is immutable.
type Job struct {
	Ranks     []Rank    // by rank
	Processes []Process // in the order of their first ranks
	Timeout   time.Duration
	Silence   time.Duration // for how long ranks may be silent, 0 for ever: their FITMPI_HEARTBEAT_TIMEOUT
	FT        bool          // Request.FT
	Attempt   int           // Request.Attempt
	Transport string        // the FITMPI_TRANSPORT of the ranks, "auto" if they have none
	Trace     int64         // Request.Trace
	Kin       boot.Kin      // Request.Kin
}

// Number is that of a rank among the ranks of all jobs, see boot.Kin.
func (j *Job) Number(rank int) int { return j.Kin.First + rank }

// Rank is the plan of one rank: what it is told, but for the descriptors, which only the runner
// has.
type Rank struct {
	boot.Info
	proc int // index in Job.Processes
}

// Process is the plan of one process: which ranks it holds, and how it is started.
type Process struct {
	Ranks []int  // ascending, at least one; their local ranks are consecutive
	Host  string // its name for people
	Here  bool   // on this machine
	Cores int    // of all its ranks together, at most those of the machine
	Bound []int  // processors it is bound to; nil if it is not
	Roam  []int  // where its threads may run that only move messages; nil if that is where it is bound
	Path  string
	Args  []string
	Env   []string // without boot.FDVariable, which only the starter knows
	Dir   string
	site  int // index in what plan was given
	app   int // index in Request.Apps
}

// site is a machine as far as the plan must know it.
type site struct {
	name  string // for messages
	at    hosts.Host
	host  string // as it calls itself
	cores int    // that the job may use
	cpus  []int  // the processors that processes there may run on, ascending; more than cores under a cgroup's limit
	env   []string
	apps  []agent.Found // by app: its program and directory there; nil where they are as the request has them

	machine string // equal for sites that are one machine, as containers may be; "" if that is not known
}

// Plan lays out the ranks of r on this machine. Preconditions:
//   - r names no hosts.
//
// The rule for cores: the C cores of the machine are divided evenly. So each of N ranks is given
// max(1, floor(C/N)), and a process those of its ranks, but no more than there are; bind.go says
// when it is bound to them. GOMAXPROCS of a process is set to its cores plus its ranks, unless the
// user set it. A rank's worker needs a P of its own, or it waits up to 10 ms for the scheduler when
// goroutines compute on all the others.
func Plan(r Request) (*Job, error) {
	name, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("asking for this machine's name: %w", err)
	}
	r.Place = make([]int, r.Ranks())
	return plan(r, []site{{name: name, host: name, cores: r.Cores, cpus: r.CPUs, env: r.Env}})
}

// plan lays out the ranks of r, which r.Place puts on sites. The rule for cores is that of Plan, on
// each.
func plan(r Request, sites []site) (*Job, error) {
	p := planner{r: r, sites: sites, local: make([][]int, len(sites)), procs: make([]int, len(sites))}
	for rank, at := range r.Place {
		p.local[at] = append(p.local[at], rank)
	}
	p.job = &Job{Timeout: r.Timeout, Silence: silenceOf(r), Transport: transportOf(r), Trace: r.Trace, FT: r.FT, Attempt: r.Attempt, Kin: r.Kin, Ranks: make([]Rank, len(r.Place))}
	p.crowds = p.findCrowds()
	p.divide()
	if err := p.addCores(); err != nil {
		return nil, err
	}
	if err := p.addInfos(); err != nil {
		return nil, err
	}
	p.addShown()
	return p.job, nil
}

// planner is a plan in the making.
type planner struct {
	r     Request
	sites []site
	local [][]int // by site: its ranks, ascending; the index of one is its local rank
	procs []int   // by site: processes so far
	job   *Job

	crowds []crowd // by site; set when local is complete
}

// divide divides the ranks among processes: consecutive ones of one app and one site.
func (p *planner) divide() {
	type group struct{ site, app int }
	open := make(map[group]int) // the process that has room
	rank := 0
	for a, app := range p.r.Apps {
		for range app.Ranks {
			g := group{p.r.Place[rank], a}
			i, ok := open[g]
			if !ok || len(p.job.Processes[i].Ranks) >= max(p.r.PerProcess, 1) {
				i = len(p.job.Processes)
				open[g] = i
				path, dir := app.Program.Path, app.Dir
				apps := p.sites[g.site].apps
				if apps != nil {
					path, dir = apps[a].Path, apps[a].Dir
				}
				p.job.Processes = append(p.job.Processes, Process{
					Host: p.sites[g.site].name, Here: apps == nil, Path: path, Args: app.Args, Dir: dir, site: g.site, app: a,
				})
			}
			proc := &p.job.Processes[i]
			proc.Ranks = append(proc.Ranks, rank)
			p.job.Ranks[rank].proc = i
			rank++
		}
	}
}

// addCores divides the cores of each site among its processes.
func (p *planner) addCores() error {
	binds := make([]bool, len(p.sites))
	for at, s := range p.sites {
		var err error
		if binds[at], err = p.r.isBound(s, p.crowds[at]); err != nil {
			return err
		}
	}
	for i := range p.job.Processes {
		proc := &p.job.Processes[i]
		s, share := p.sites[proc.site], p.share(proc.site)
		proc.Cores = min(share*len(proc.Ranks), max(s.cores, 1))
		proc.Env = processEnv(p.r, proc, s.env)
		if binds[proc.site] {
			first := p.firstCore(proc)
			end := first + len(proc.Ranks)*share
			proc.Bound = s.cpus[first:end:end]
			if p.r.Bind != BindCore { // whose user has said where they are to run
				proc.Roam = s.cpus
			}
		}
	}
	return nil
}

// firstCore is the index of the first core that a process is bound to: behind those of other ranks
// that share the cores, of which hosts with fewer cores (a limit of their cgroup) give each rank
// fewer.
func (p *planner) firstCore(proc *Process) int {
	before, _ := slices.BinarySearch(p.local[proc.site], proc.Ranks[0])
	first := before * p.share(proc.site)
	for _, at := range p.crowds[proc.site].before {
		first += len(p.local[at]) * p.share(at)
	}
	return first
}

// share is the cores that each rank of a site is given.
func (p *planner) share(at int) int { return coresPerRank(p.sites[at].cores, p.crowds[at].ranks) }

// universe is for how many ranks there is a core, those of the job included; 0, not known, where
// ranks of other jobs share the cores.
func (p *planner) universe(cores int) int {
	if p.r.Beside > 0 {
		return 0
	}
	return max(cores, len(p.r.Place))
}

// addInfos adds what the ranks are told.
func (p *planner) addInfos() error {
	id, secret := boot.NewJob()
	cores, used := 0, 0
	var all []hosts.Host
	for at, s := range p.sites {
		if p.crowds[at].first == at {
			cores += s.cores
		}
		all = append(all, s.at)
		if len(p.local[at]) > 0 {
			used++
		}
	}
	network := p.r.Net
	network.Remote = network.Remote || used > 1 || p.r.mayLeave()
	for i := range p.job.Processes {
		proc := &p.job.Processes[i]
		s := p.sites[proc.site]
		network := p.r.Domains.describe(network, s.at, all, id)
		for _, n := range proc.Ranks {
			addr, err := metricsAddr(p.r.Metrics, p.job.Number(n))
			if err != nil {
				return err
			}
			local, _ := slices.BinarySearch(p.local[proc.site], n)
			p.job.Ranks[n].Info = boot.Info{
				Rank: n, Size: len(p.r.Place), LocalRank: local, LocalSize: len(p.local[proc.site]), Job: id, Secret: secret,
				Source: "fitrun", Host: s.host, Cores: p.share(proc.site), Universe: p.universe(cores),
				Watched: p.r.Watched, FT: p.r.FT, Attempt: p.r.Attempt, Given: given(&p.r, proc.app), MetricsAddr: addr, MetricsRequested: addr != "", Process: p.procs[proc.site], ProcessRanks: len(proc.Ranks),
				Bound: proc.Bound, Roam: proc.Roam, AppNum: proc.app, Net: network, Kin: p.r.Kin,
			}
		}
		p.procs[proc.site]++
	}
	return nil
}

// crewPlan is the part of job that is for the crew of a site.
func (j *Job) crewPlan(at int) crew.Plan {
	plan := crew.Plan{Transport: j.Transport, Trace: j.Trace, Looks: j.Silence / looksPerSilence}
	for _, p := range j.Processes {
		if p.site != at {
			continue
		}
		c := crew.Process{Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir, Bound: p.Bound, Stdin: p.Ranks[0] == 0}
		for _, r := range p.Ranks {
			c.Ranks = append(c.Ranks, j.Ranks[r].Info)
		}
		plan.Processes = append(plan.Processes, c)
	}
	return plan
}

func coresPerRank(cores, ranks int) int { return max(1, cores/max(ranks, 1)) }

// processEnv is the environment of a process whose site has env.
func processEnv(r Request, p *Process, env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(e string) bool {
		return strings.HasPrefix(e, boot.FDVariable+"=") // of a fitrun around this one
	})
	if p.Dir != "" {
		env = append(env, "PWD="+p.Dir)
	}
	env = append(env, r.Apps[p.app].Set...)
	if dir := r.Apps[p.app].Libraries; dir != "" {
		env = withLibraries(env, dir)
	}
	if !hasVariable(env, "GOMAXPROCS") {
		env = append(env, "GOMAXPROCS="+strconv.Itoa(p.Cores+len(p.Ranks)))
	}
	if r.Progress != "" {
		env = append(env, "FITMPI_PROGRESS="+r.Progress)
	}
	if r.Heartbeat != "" {
		env = append(env, heartbeatVariable+"="+r.Heartbeat)
	}
	if r.HeartbeatTimeout != "" {
		env = append(env, heartbeatTimeoutVariable+"="+r.HeartbeatTimeout)
	}
	if r.Transport != "" {
		env = append(env, transportVariable+"="+r.Transport)
	}
	if r.Check {
		env = append(env, "FITMPI_CHECK=1")
	}
	if r.Checkpoint != "" {
		env = append(env, checkpointVariable+"="+r.Checkpoint)
	}
	if r.HTTPAuth != "" {
		env = append(env, httpAuthVariable+"="+r.HTTPAuth)
	}
	if r.HTTPOpen {
		env = append(env, httpOpenVariable+"=1")
	}
	return env
}

// given are the variables of FitMPI's that options have set for the ranks of an app, with the
// options; nil if there is none.
func given(r *Request, app int) map[string]string {
	by := make(map[string]string)
	for _, e := range r.Apps[app].Set {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "FITMPI_") {
			by[name] = "-x or -genv"
		}
	}
	if r.Progress != "" {
		by["FITMPI_PROGRESS"] = "--progress"
	}
	if r.Heartbeat != "" {
		by[heartbeatVariable] = "--heartbeat"
	}
	if r.HeartbeatTimeout != "" {
		by[heartbeatTimeoutVariable] = "--heartbeat-timeout"
	}
	if r.Transport != "" {
		by[transportVariable] = "--transport"
	}
	if r.Check {
		by["FITMPI_CHECK"] = "--check"
	}
	if r.Checkpoint != "" {
		by[checkpointVariable] = "--restart-dir"
	}
	if r.HTTPAuth != "" {
		by[httpAuthVariable] = "--http-auth"
	}
	if r.HTTPOpen {
		by[httpOpenVariable] = "--http-open"
	}
	if len(by) == 0 {
		return nil
	}
	return by
}

// Variables that options set.
const (
	transportVariable        = "FITMPI_TRANSPORT"
	heartbeatVariable        = "FITMPI_HEARTBEAT"
	heartbeatTimeoutVariable = "FITMPI_HEARTBEAT_TIMEOUT"
	httpAuthVariable         = "FITMPI_HTTP_AUTH"
	httpOpenVariable         = "FITMPI_HTTP_OPEN"
	checkpointVariable       = "FITMPI_CHECKPOINT"
)

// transportOf is the transport that the ranks will be told: by the option, or by a variable that
// they are given. It is "auto" where those of several apps differ.
func transportOf(r Request) string {
	found := ""
	for _, app := range r.Apps {
		own := r.Transport
		for _, e := range slices.Backward(slices.Concat(r.Env, app.Set)) {
			if v, ok := strings.CutPrefix(e, transportVariable+"="); ok && own == "" {
				own = v
			}
		}
		own = cmp.Or(own, "auto")
		if found != "" && found != own {
			return "auto"
		}
		found = own
	}
	return cmp.Or(found, "auto")
}

// looksPerSilence is how often in the time for which a rank may be silent its crew looks whether
// its process runs.
const looksPerSilence = 8

// silenceOf is for how long ranks will be told that others may be silent: by the option, or by a
// variable that they are given; 0 is for ever. It is the longest where those of several apps
// differ.
func silenceOf(r Request) (longest time.Duration) {
	for _, app := range r.Apps {
		text := r.HeartbeatTimeout
		for _, e := range slices.Backward(slices.Concat(r.Env, app.Set)) {
			if v, ok := strings.CutPrefix(e, heartbeatTimeoutVariable+"="); ok && text == "" {
				text = v
			}
		}
		v, _ := params.Find(heartbeatTimeoutVariable)
		d, err := params.ParseDuration(cmp.Or(text, v.Default))
		if err != nil || d <= 0 { // the ranks will say what is wrong with it
			return 0
		}
		longest = max(longest, d)
	}
	return longest
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
		return "", fmt.Errorf("--rank-metrics %s: want HOST:PORT, for example 127.0.0.1:9100", addr)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return "", fmt.Errorf("--rank-metrics %s: the port must be a number from 0 to 65535", addr)
	}
	if port != 0 {
		port += uint64(rank)
	}
	if port > 65535 {
		return "", fmt.Errorf("--rank-metrics %s: rank %d would need port %d; choose a lower port, or 0 for any", addr, rank, port)
	}
	return net.JoinHostPort(host, strconv.FormatUint(port, 10)), nil
}
