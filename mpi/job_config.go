package mpi

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/params"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

const (
	// defaultSpin is how long a blocked caller polls when every rank has a core.
	defaultSpin = 200 * time.Microsecond
	// defaultModeration is how long a worker rests when no core is left for it.
	defaultModeration = 4 * time.Millisecond
	// defaultYield is how long it polls and yields the core when they have not, and
	// defaultDoze how long it sleeps in the poller after that, with its P kept.
	defaultYield = 200 * time.Microsecond
	defaultDoze  = 2 * time.Millisecond
)

// defaultCongestion is the congestion control asked for, where the system has it.
// Between the ranks of a host and in a LAN it is faster than BBR, which some
// systems choose and which paces: see docs/decisions/0007-cubic-unless-told-otherwise.md.
const defaultCongestion = "cubic"

// settings are the parameters of a rank.
type settings struct {
	engine.Config
	transport  string // transportAuto, transportTCP or transportShm
	cliques    int    // FITMPI_CLIQUES; 0 if it is not set
	coll       coll.Choice
	checks     bool       // FITMPI_CHECK
	ckptDir    string     // FITMPI_CHECKPOINT; "" if it is not set
	nameserver string     // FITMPI_NAMESERVER; "" if it is not set
	hasFT      bool       // FITMPI_FT
	errhName   string     // FITMPI_ERRHANDLER, or what stands for it
	level      slog.Level // of Logger
	net        netSettings
	metrics    metricsSettings

	origins map[string]string // by name of the variable: what gave the value; variables that are not there were given none
}

// settingsOf makes a rank's parameters from what the launcher said and the
// environment: it goes over the table of variables (package params).
func settingsOf(info boot.Info, getenv func(string) string) (settings, error) {
	set := settings{transport: transportAuto, errhName: handlerFatal, level: slog.LevelWarn,
		net: netSettings{remote: info.Net.Remote, tls: info.Net.TLS}, origins: make(map[string]string), Config: engine.Config{
			Rank: info.Rank, Size: info.Size, Job: info.Job, Secret: info.Secret,
			Progress: engine.Assist, Congestion: defaultCongestion,
			KeepP: hasSpareP(info), WorkerCPUs: info.Roam, Unexpected: unexpectedFor(info.LocalSize), MaxMessage: int(min(sys.MemoryLimit(), math.MaxInt)),
		}}
	cfg := &set.Config
	if !hasSpareCore(info) {
		cfg.Moderation = defaultModeration
	}
	if hasCore(info) {
		cfg.Spin = defaultSpin
	} else {
		cfg.Yield, cfg.Doze = defaultYield, defaultDoze
	}
	said := saidBy(&info)
	for _, v := range params.Of(params.Rank) {
		value, origin := said[v.Name], cmp.Or(v.Option, originLauncher)
		if value == "" {
			value, origin = getenv(v.Name), cmp.Or(info.Given[v.Name], originEnvironment)
		}
		if value == "" {
			continue
		}
		if err := takers[v.Name].set(&set, value); err != nil {
			return set, fmt.Errorf("%s=%s: %w", v.Name, value, err)
		}
		set.origins[v.Name] = origin
	}
	if info.Source == sourceThreads {
		set.returnErrors()
	}
	if info.Net.TLS {
		set.origins[nameTLS] = "--tls"
	}
	if info.ProcessRanks > 1 && set.transport == transportTCP {
		cfg.Yield = 0 // with its P kept, which other ranks of the process need
	}
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: set.level}))
	return set, nil
}

// unexpectedFor is what announcements of messages that no receive has asked for may take at each of
// so many ranks of a host.
func unexpectedFor(ranks int) int {
	return int(min(max(sys.MemoryLimit()/8/uint64(max(ranks, 1)), engine.MinUnexpected), 1<<30))
}

// saidBy is what the launcher says of variables in another way than by the environment, in which it
// counts before that.
func saidBy(info *boot.Info) map[string]string {
	said := map[string]string{nameIface: info.Net.Interface, namePorts: info.Net.Ports}
	if info.MetricsRequested {
		said[nameMetrics] = info.MetricsAddr
	}
	return said
}

// hasCore reports whether every rank of this process has a core to itself.
func hasCore(info boot.Info) bool {
	if info.Bound != nil {
		return max(info.ProcessRanks, 1) <= len(info.Bound) // which no other process is bound to
	}
	return info.LocalSize <= runtime.NumCPU()
}

// hasSpareCore reports whether every rank of this process has a second core, for its worker.
func hasSpareCore(info boot.Info) bool {
	if info.Bound != nil {
		return 2*max(info.ProcessRanks, 1) <= len(info.Bound)
	}
	return 2*info.LocalSize <= runtime.NumCPU()
}

// hasSpareP reports whether GOMAXPROCS has a P for every worker of this process to
// keep, beside those that compute. The launcher sees to that, but where the ranks of
// a process share cores they would take them from each other by keeping their Ps.
func hasSpareP(info boot.Info) bool {
	if info.ProcessRanks <= 1 {
		return runtime.GOMAXPROCS(0) > info.Cores
	}
	return hasCore(info) && runtime.GOMAXPROCS(0) >= info.ProcessRanks*(info.Cores+1)
}

// What gave a variable its value, for users to read.
const (
	originDefault     = "default"
	originAutomatic   = "automatic"
	originEnvironment = "environment"
	originLauncher    = "launcher"
)

// procs counts the workers of this process.
var procs struct {
	mu      sync.Mutex
	workers int // guarded by mu
	before  int // guarded by mu: GOMAXPROCS without them
}

// addWorkers gives the process one P more for each of n workers (n < 0 takes them back), unless the
// user or the launcher has chosen GOMAXPROCS. A worker that must take its P from a computing
// goroutine is late by milliseconds. It gives no more than there are cores: workers beyond that
// would only take turns. It reports whether all have got one.
func addWorkers(n int) (all bool) {
	if os.Getenv("GOMAXPROCS") != "" {
		return false
	}
	procs.mu.Lock()
	defer procs.mu.Unlock()
	if procs.workers == 0 {
		procs.before = runtime.GOMAXPROCS(0)
	}
	procs.workers += n
	runtime.GOMAXPROCS(procs.before + min(procs.workers, runtime.NumCPU()))
	return procs.workers <= runtime.NumCPU()
}

// netSettings say how a rank reaches others that share no memory with it.
//
// What the launcher says, by an option of its user, is about this job; a variable, which may come
// from a profile of the host, counts for interfaces and ports where the launcher says nothing. TLS
// is used if either asks for it: nothing on the way may turn off what the other has asked for.
type netSettings struct {
	choice netif.Choice // of addresses to listen on
	ports  netif.Ports  // to listen on
	remote bool         // some rank is on another host
	tls    bool
}
