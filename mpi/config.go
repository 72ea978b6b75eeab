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
)

// The environment variables that a rank reads; fitrun sets some by its options.
// Sizes are in bytes and may end in K, M or G (of 1024).
const (
	envProgress   = "FITMPI_PROGRESS"    // worker, assist or caller
	envTransport  = "FITMPI_TRANSPORT"   // auto or tcp
	envSendBuffer = "FITMPI_SEND_BUFFER" // size of the library send buffer
	envShort      = "FITMPI_SHORT_MAX"   // size up to which a payload is copied behind its header
	envEager      = "FITMPI_EAGER_MAX"   // size up to which a payload follows without permission
	envWindow     = "FITMPI_WINDOW"      // eager bytes that each peer may have waiting here
	envCopyMax    = "FITMPI_COPY_MAX"    // size up to which Send copies to the library send buffer
	envSpin       = "FITMPI_SPIN"        // how long a caller polls before it sleeps, such as 200us; 0s = not at all
	envSocketBuf  = "FITMPI_SOCKET_BUFFER"
	envCongestion = "FITMPI_CONGESTION" // TCP congestion control, such as cubic; system = what the system has chosen
	envMetrics    = "FITMPI_METRICS"    // host:port at which to serve /metrics
	envLog        = "FITMPI_LOG"        // debug, info, warn or error: what the engine logs on stderr; default warn
)

const (
	// defaultSpin is how long a blocked caller polls when every rank has a core.
	defaultSpin = 200 * time.Microsecond
	// defaultDoze is how long it sleeps in the poller, with its P kept, when they have not.
	defaultDoze = 2 * time.Millisecond
)

// defaultCongestion is the congestion control asked for, where the system has it.
// Between the ranks of a host and in a LAN it is faster than BBR, which some
// systems choose and which paces: see docs/decisions/0007-cubic.md.
const defaultCongestion = "cubic"

// engineConfig makes the engine's configuration from what the launcher said and
// the environment.
func engineConfig(info boot.Info, getenv func(string) string) (engine.Config, error) {
	cfg := engine.Config{
		Rank: info.Rank, Size: info.Size, Job: info.Job, Secret: info.Secret,
		Progress: engine.Assist,
		KeepP:    runtime.GOMAXPROCS(0) > info.Cores,
	}
	if info.LocalSize <= runtime.NumCPU() {
		cfg.Spin = defaultSpin
	} else {
		cfg.Doze = defaultDoze
	}
	v := variables{getenv: getenv}
	v.parse(envProgress, func(s string) (err error) {
		cfg.Progress, err = engine.ParsePolicy(s)
		return err
	})
	v.parse(envTransport, func(s string) error {
		if s != "auto" && s != "tcp" {
			return fmt.Errorf("transport %q: choose auto or tcp", s)
		}
		return nil
	})
	v.size(envSendBuffer, &cfg.SendBuffer)
	v.size(envShort, &cfg.ShortMax)
	v.size(envEager, &cfg.EagerMax)
	v.size(envWindow, &cfg.Window)
	v.size(envCopyMax, &cfg.CopyMax)
	v.size(envSocketBuf, &cfg.SocketBuffer)
	v.parse(envSpin, func(s string) (err error) {
		cfg.Doze = 0
		if cfg.Spin, err = time.ParseDuration(s); err == nil && cfg.Spin < 0 {
			err = errors.New("a duration less than 0: 0s turns polling off")
		}
		return err
	})
	v.parse(envLog, func(s string) error { return setLogger(&cfg, s) })
	if cfg.Logger == nil {
		setLogger(&cfg, "warn")
	}
	if cfg.Congestion = cmp.Or(getenv(envCongestion), defaultCongestion); cfg.Congestion == "system" {
		cfg.Congestion = ""
	}
	return cfg, v.err
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
// that must take its P from a computing goroutine is late by milliseconds.
func addWorkers(n int) {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	procs.mu.Lock()
	defer procs.mu.Unlock()
	if procs.workers == 0 {
		procs.before = runtime.GOMAXPROCS(0)
	}
	procs.workers += n
	runtime.GOMAXPROCS(procs.before + procs.workers)
}
