//go:build linux

package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/coll"
)

// The environment variables that a rank reads; fitrun sets some by its options.
// Sizes are in bytes and may end in K, M or G (of 1024).
const (
	envProgress   = "FITMPI_PROGRESS"    // worker, assist or caller
	envTransport  = "FITMPI_TRANSPORT"   // auto, tcp or shm
	envShmCopy    = "FITMPI_SHM_COPY"    // how long messages come between processes of a host: ring or read (process_vm_readv)
	envCliques    = "FITMPI_CLIQUES"     // for experiments: take the ranks of this host for those of so many hosts
	envColl       = "FITMPI_COLL"        // for tests and experiments: algorithms of collectives, such as allreduce=ring,bcast=chain
	envCheck      = "FITMPI_CHECK"       // 1: compare the types of sender and receiver; 0: do not
	envSendBuffer = "FITMPI_SEND_BUFFER" // size of the library send buffer
	envShort      = "FITMPI_SHORT_MAX"   // size up to which a payload is copied behind its header
	envEager      = "FITMPI_EAGER_MAX"   // size up to which a payload follows without permission
	envWindow     = "FITMPI_WINDOW"      // eager bytes that each peer may have waiting here
	envCopyMax    = "FITMPI_COPY_MAX"    // size up to which Send copies to the library send buffer
	envSpin       = "FITMPI_SPIN"        // how long a caller polls before it sleeps, such as 200us; 0s = not at all
	envSocketBuf  = "FITMPI_SOCKET_BUFFER"
	envCongestion = "FITMPI_CONGESTION"      // TCP congestion control, such as cubic; system = what the system has chosen
	envInterface  = "FITMPI_IFACE"           // where others reach this rank: interfaces, addresses and networks, such as eth1,10.0.0.0/8
	envPorts      = "FITMPI_PORT_RANGE"      // TCP ports to listen on, such as 40000-40999
	envTLS        = "FITMPI_TLS"             // 1: connections between ranks are encrypted; every rank needs the same
	envConnect    = "FITMPI_CONNECT_TIMEOUT" // how long a rank tries to reach another, such as 60s
	envMetrics    = "FITMPI_METRICS"         // host:port at which to serve /metrics
	envErrhandler = "FITMPI_ERRHANDLER"      // fatal, abort or return: the error handler of world and self at the start
	envLog        = "FITMPI_LOG"             // debug, info, warn or error: what the engine logs on stderr; default warn
)

const (
	// defaultSpin is how long a blocked caller polls when every rank has a core.
	defaultSpin = 200 * time.Microsecond
	// defaultYield is how long it polls and yields the core when they have not, and
	// defaultDoze how long it sleeps in the poller after that, with its P kept.
	defaultYield = 50 * time.Microsecond
	defaultDoze  = 2 * time.Millisecond
)

// defaultCongestion is the congestion control asked for, where the system has it.
// Between the ranks of a host and in a LAN it is faster than BBR, which some
// systems choose and which paces: see docs/decisions/0007-cubic.md.
const defaultCongestion = "cubic"

// settings are the parameters of a rank.
type settings struct {
	engine.Config
	transport string // transportAuto, transportTCP or transportShm
	cliques   int    // FITMPI_CLIQUES; 0 if it is not set
	coll      coll.Choice
	checks    bool // FITMPI_CHECK
	errh      Errhandler
	net       netSettings
}

// settingsOf makes a rank's parameters from what the launcher said and the
// environment.
func settingsOf(info boot.Info, getenv func(string) string) (settings, error) {
	set := settings{transport: transportAuto, errh: ErrorsAreFatal, Config: engine.Config{
		Rank: info.Rank, Size: info.Size, Job: info.Job, Secret: info.Secret,
		Progress: engine.Assist,
		KeepP:    hasSpareP(info),
	}}
	cfg := &set.Config
	if hasCore(info) {
		cfg.Spin = defaultSpin
	} else {
		cfg.Yield, cfg.Doze = defaultYield, defaultDoze
	}
	v := variables{getenv: getenv}
	v.parse(envProgress, func(s string) (err error) {
		cfg.Progress, err = engine.ParsePolicy(s)
		return err
	})
	v.parse(envTransport, set.parseTransport)
	v.parse(envCliques, set.parseCliques)
	v.parse(envColl, func(s string) (err error) {
		set.coll, err = coll.ParseChoice(s)
		return err
	})
	v.parse(envCheck, func(s string) error {
		if set.checks = s == "1"; !set.checks && s != "0" {
			return fmt.Errorf("%q: 1 compares the types of sender and receiver, 0 does not", s)
		}
		return nil
	})
	v.parse(envErrhandler, func(s string) (err error) {
		set.errh, err = errhandlerNamed(s)
		return err
	})
	v.parse(envShmCopy, func(s string) error {
		if cfg.Fetch = s == "read"; !cfg.Fetch && s != "ring" {
			return fmt.Errorf("copying %q: choose ring or read", s)
		}
		return nil
	})
	v.size(envSendBuffer, &cfg.SendBuffer)
	v.size(envShort, &cfg.ShortMax)
	v.size(envEager, &cfg.EagerMax)
	v.size(envWindow, &cfg.Window)
	v.size(envCopyMax, &cfg.CopyMax)
	v.size(envSocketBuf, &cfg.SocketBuffer)
	set.parseNet(&info.Net, &v)
	v.parse(envSpin, func(s string) (err error) {
		cfg.Yield, cfg.Doze = 0, 0
		if cfg.Spin, err = time.ParseDuration(s); err == nil && cfg.Spin < 0 {
			err = errors.New("a duration less than 0: 0s turns polling off")
		}
		return err
	})
	v.parse(envConnect, func(s string) (err error) {
		if cfg.Connect, err = time.ParseDuration(s); err == nil && cfg.Connect <= 0 {
			err = errors.New("a time in which nothing can be reached")
		}
		return err
	})
	if info.ProcessRanks > 1 && set.transport == transportTCP {
		cfg.Yield = 0 // with its P kept, which other ranks of the process need
	}
	v.parse(envLog, func(s string) error { return setLogger(cfg, s) })
	if cfg.Logger == nil {
		setLogger(cfg, "warn")
	}
	if cfg.Congestion = cmp.Or(getenv(envCongestion), defaultCongestion); cfg.Congestion == "system" {
		cfg.Congestion = ""
	}
	return set, v.err
}

// hasCore reports whether every rank of this process has a core to itself.
func hasCore(info boot.Info) bool {
	if info.Bound != nil {
		return max(info.ProcessRanks, 1) <= len(info.Bound) // which nobody else is bound to
	}
	return info.LocalSize <= runtime.NumCPU()
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

func (set *settings) parseTransport(s string) error {
	if s != transportAuto && s != transportTCP && s != transportShm {
		return fmt.Errorf("transport %q: choose auto, tcp or shm", s)
	}
	set.transport = s
	return nil
}

func (set *settings) parseCliques(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fmt.Errorf("%q hosts: need a number from 1", s)
	}
	set.cliques = n
	return nil
}

func setLogger(cfg *engine.Config, level string) error {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return fmt.Errorf("log level %q: choose debug, info, warn or error", level)
	}
	cfg.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: l}))
	return nil
}

// variables reads the environment and keeps the first error.
type variables struct {
	getenv func(string) string
	err    error
}

func (v *variables) parse(name string, f func(string) error) {
	s := v.getenv(name)
	if s == "" || v.err != nil {
		return
	}
	if err := f(s); err != nil {
		v.err = fmt.Errorf("%s=%s: %w", name, s, err)
	}
}

func (v *variables) size(name string, p *int) {
	v.parse(name, func(s string) (err error) {
		*p, err = parseSize(s)
		return err
	})
}

// parseSize reads a number of bytes such as 4096, 64K or 16M.
func parseSize(s string) (int, error) {
	digits, unit := s, 1
	if i := len(s) - 1; i > 0 {
		if k := strings.IndexByte("KMG", s[i]&^0x20); k >= 0 && s[i] >= 'A' {
			digits, unit = s[:i], 1<<(10*(k+1))
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n <= 0 || n > (1<<46)/unit {
		return 0, fmt.Errorf("size %q: need a positive number of bytes, such as 65536, 64K or 16M", s)
	}
	return n * unit, nil
}

// procs counts the workers of this process.
var procs struct {
	mu      sync.Mutex
	workers int // guarded by mu
	before  int // guarded by mu: GOMAXPROCS without them
}

// addWorkers gives the process one P more for each of n workers (n < 0 takes
// them back), unless the user or the launcher has chosen GOMAXPROCS: a worker
// that must take its P from a computing goroutine is late by milliseconds. It gives
// no more than there are cores: workers beyond that would only take turns. It reports
// whether all have got one.
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
