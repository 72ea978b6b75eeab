package mpi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/names"
	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/params"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// Names of variables that are needed beside the table.
const (
	nameTransport  = "FITMPI_TRANSPORT"
	nameColl       = "FITMPI_COLL"
	nameCliques    = "FITMPI_CLIQUES"
	nameCheck      = "FITMPI_CHECK"
	nameErrhandler = "FITMPI_ERRHANDLER"
	nameCkptDir    = "FITMPI_CHECKPOINT"
	nameFT         = "FITMPI_FT"
	nameIface      = "FITMPI_IFACE"
	namePorts      = "FITMPI_PORT_RANGE"
	nameTLS        = "FITMPI_TLS"
	nameMetrics    = "FITMPI_METRICS"
)

// taker is how a rank takes a variable of package params that it reads.
type taker struct {
	// set takes a value that is not empty; its error says what is wrong with it, without the name.
	set func(set *settings, value string) error
	// get is the value in force, by what the engine has made of it; "" if there is none, and the
	// table's default says what holds.
	get func(set *settings, e *engine.Config) string
}

// takers has one for each variable that ranks read: TestTakers.
var takers = map[string]taker{
	"FITMPI_PROGRESS": {(*settings).takeProgress, func(_ *settings, e *engine.Config) string { return e.Progress.String() }},
	"FITMPI_SPIN":     {(*settings).takeSpin, func(_ *settings, e *engine.Config) string { return spinText(e) }},

	"FITMPI_MODERATION": {(*settings).takeModeration, func(_ *settings, e *engine.Config) string { return durationText(e.Moderation) }},
	"FITMPI_WORKERS":    {(*settings).takeWorkers, func(_ *settings, e *engine.Config) string { return numberText(e.Workers) }},

	"FITMPI_SEND_BUFFER":   size(func(e *engine.Config) *int { return &e.SendBuffer }),
	"FITMPI_SHORT_MAX":     size(func(e *engine.Config) *int { return &e.ShortMax }),
	"FITMPI_EAGER_MAX":     size(func(e *engine.Config) *int { return &e.EagerMax }),
	"FITMPI_WINDOW":        size(func(e *engine.Config) *int { return &e.Window }),
	"FITMPI_UNEXPECTED":    size(func(e *engine.Config) *int { return &e.Unexpected }),
	"FITMPI_EARLY":         size(func(e *engine.Config) *int { return &e.Early }),
	"FITMPI_COPY_MAX":      size(func(e *engine.Config) *int { return &e.CopyMax }),
	"FITMPI_SOCKET_BUFFER": size(func(e *engine.Config) *int { return &e.SocketBuffer }),

	nameTransport:     {(*settings).takeTransport, func(set *settings, _ *engine.Config) string { return set.transport }},
	"FITMPI_SHM_COPY": {(*settings).takeShmCopy, func(_ *settings, e *engine.Config) string { return e.Copy.String() }},
	nameCliques:       {(*settings).takeCliques, func(set *settings, _ *engine.Config) string { return numberText(set.cliques) }},

	nameIface: {(*settings).takeIface, func(set *settings, _ *engine.Config) string { return set.net.choice.String() }},
	namePorts: {(*settings).takePorts, func(set *settings, _ *engine.Config) string { return set.net.ports.String() }},
	nameTLS:   {(*settings).takeTLS, func(set *settings, _ *engine.Config) string { return switchText(set.net.tls) }},
	names.Variable: {func(set *settings, s string) error { set.nameserver = s; return nil }, func(set *settings, _ *engine.Config) string {
		if set.nameserver == "" {
			return ""
		}
		return "set" // it is a secret
	}},
	"FITMPI_CONNECT_TIMEOUT":   {(*settings).takeConnect, func(_ *settings, e *engine.Config) string { return e.Connect.String() }},
	"FITMPI_HEARTBEAT":         span(func(e *engine.Config) *time.Duration { return &e.Heartbeat }),
	"FITMPI_HEARTBEAT_TIMEOUT": span(func(e *engine.Config) *time.Duration { return &e.HeartbeatTimeout }),
	"FITMPI_RESUME": {func(set *settings, s string) (err error) {
		set.Resume, err = engine.ParseResume(s)
		return err
	}, func(_ *settings, e *engine.Config) string { return e.Resume.String() }},
	"FITMPI_RECONNECT": {func(set *settings, s string) error { return takeTime(&set.Reconnect, s) },
		func(_ *settings, e *engine.Config) string { return e.Reconnect.String() }},
	"FITMPI_RESUME_BUFFER": size(func(e *engine.Config) *int { return &e.Unacked }),
	"FITMPI_CONGESTION":    {(*settings).takeCongestion, func(_ *settings, e *engine.Config) string { return congestionText(e) }},

	nameColl: {(*settings).takeColl, func(set *settings, _ *engine.Config) string { return set.coll.String() }},

	nameFT:         {(*settings).takeFT, func(set *settings, _ *engine.Config) string { return switchText(set.hasFT) }},
	nameCheck:      {(*settings).takeCheck, func(set *settings, _ *engine.Config) string { return switchText(set.checks) }},
	nameErrhandler: {(*settings).takeErrhandler, func(set *settings, _ *engine.Config) string { return set.errhName }},
	nameCkptDir:    {(*settings).takeCheckpointDir, func(set *settings, _ *engine.Config) string { return set.ckptDir }},
	"FITMPI_LOG":   {(*settings).takeLog, func(set *settings, _ *engine.Config) string { return strings.ToLower(set.level.String()) }},

	nameMetrics:        {(*settings).takeMetrics, func(set *settings, _ *engine.Config) string { return set.metrics.addr }},
	"FITMPI_HTTP_AUTH": {(*settings).takeHTTPAuth, func(set *settings, _ *engine.Config) string { return set.metrics.secretFile }},
	"FITMPI_HTTP_OPEN": {(*settings).takeHTTPOpen, func(set *settings, _ *engine.Config) string { return switchText(set.metrics.open) }},
	"FITMPI_PPROF":     {(*settings).takePprof, func(set *settings, _ *engine.Config) string { return switchText(set.metrics.profiles) }},
	"FITMPI_PUSH":      {(*settings).takePush, func(set *settings, _ *engine.Config) string { return set.metrics.push.url }},
	"FITMPI_PUSH_JOB":  {(*settings).takePushJob, func(set *settings, _ *engine.Config) string { return set.metrics.push.job }},
}

// size takes a number of bytes.
func size(field func(e *engine.Config) *int) taker {
	return taker{
		func(set *settings, s string) (err error) {
			*field(&set.Config), err = params.ParseSize(s)
			return err
		},
		func(_ *settings, e *engine.Config) string {
			n := *field(e)
			if n <= 0 {
				return ""
			}
			return params.FormatSize(n)
		},
	}
}

// span takes a duration of which 0 turns something off, which the engine says by one that is less.
func span(field func(e *engine.Config) *time.Duration) taker {
	return taker{
		func(set *settings, s string) error {
			d, err := params.ParseDuration(s)
			if err == nil && d < 0 {
				err = errors.New("a duration less than 0: 0s turns it off")
			}
			if d == 0 {
				d = -1
			}
			*field(&set.Config) = d
			return err
		},
		func(_ *settings, e *engine.Config) string { return max(*field(e), 0).String() },
	}
}

func (set *settings) takeProgress(s string) (err error) {
	set.Progress, err = engine.ParsePolicy(s)
	return err
}

func (set *settings) takeSpin(s string) (err error) {
	set.Yield, set.Doze = 0, 0
	if set.Spin, err = params.ParseDuration(s); err == nil && set.Spin < 0 {
		err = errors.New("a duration less than 0: 0s turns polling off")
	}
	return err
}

func (set *settings) takeModeration(s string) (err error) {
	if set.Moderation, err = params.ParseDuration(s); err == nil && set.Moderation < 0 {
		err = errors.New("a duration less than 0: 0s hears every arrival at once")
	}
	return err
}

func (set *settings) takeWorkers(s string) (err error) {
	if set.Workers, err = strconv.Atoi(s); err != nil || set.Workers < 1 || set.Workers > engine.MaxWorkers {
		return fmt.Errorf("%q threads: need a number from 1 to %d", s, engine.MaxWorkers)
	}
	return nil
}

func durationText(d time.Duration) string { return strings.Replace(d.String(), "µs", "us", 1) }

// spinText leaves the turns that callers take where they share cores to the default's words.
func spinText(e *engine.Config) string {
	if e.Spin == 0 && e.Yield > 0 {
		return ""
	}
	return durationText(e.Spin)
}

func (set *settings) takeTransport(s string) error {
	if s != transportAuto && s != transportTCP && s != transportShm {
		return fmt.Errorf("transport %q: choose auto, tcp or shm", s)
	}
	set.transport = s
	return nil
}

func (set *settings) takeShmCopy(s string) error {
	var ok bool
	if set.Copy, ok = engine.ParseCopying(s); !ok {
		return fmt.Errorf("copying %q: choose auto, ring or read", s)
	}
	return nil
}

func (set *settings) takeCliques(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return fmt.Errorf("%q hosts: need a number from 1", s)
	}
	set.cliques = n
	return nil
}

func (set *settings) takeIface(s string) (err error) {
	set.net.choice, err = netif.ParseChoice(s)
	return err
}

func (set *settings) takePorts(s string) (err error) {
	set.net.ports, err = netif.ParsePorts(s)
	return err
}

func (set *settings) takeTLS(s string) error {
	on, err := parseSwitch(s, "1 encrypts connections between ranks, 0 does not")
	set.net.tls = set.net.tls || on
	return err
}

func (set *settings) takeConnect(s string) error { return takeTime(&set.Connect, s) }

// takeTime takes how long something is tried to be reached.
func takeTime(t *time.Duration, s string) (err error) {
	if *t, err = params.ParseDuration(s); err == nil && *t <= 0 {
		err = errors.New("a time in which nothing can be reached: want more than 0, for example 30s")
	}
	return err
}

func (set *settings) takeCongestion(s string) error {
	if set.Congestion = s; s == congestionOfSystem {
		set.Congestion = ""
	}
	return nil
}

// congestionOfSystem leaves the choice to the system, for which the engine has the empty name.
const congestionOfSystem = "system"

func congestionText(e *engine.Config) string {
	if e.Congestion == "" {
		return congestionOfSystem
	}
	return e.Congestion
}

func (set *settings) takeColl(s string) (err error) {
	set.coll, err = coll.ParseChoice(s)
	return err
}

func (set *settings) takeCheck(s string) (err error) {
	set.checks, err = parseSwitch(s, "1 compares the types of sender and receiver, 0 does not")
	return err
}

func (set *settings) takeFT(s string) (err error) {
	set.hasFT, err = parseSwitch(s, "1 goes on without ranks that die, 0 does not")
	return err
}

func (set *settings) takeErrhandler(s string) (err error) {
	set.errhName, err = handlerNamed(s)
	return err
}

func (set *settings) takeCheckpointDir(s string) error {
	set.ckptDir = s
	return nil
}

func (set *settings) takeLog(s string) error {
	if err := set.level.UnmarshalText([]byte(s)); err != nil {
		return fmt.Errorf("log level %q: choose debug, info, warn or error", s)
	}
	return nil
}

func (set *settings) takeMetrics(s string) error {
	set.metrics.addr = s
	return nil
}

func (set *settings) takeHTTPAuth(s string) error {
	set.metrics.secretFile = s
	return nil
}

func (set *settings) takeHTTPOpen(s string) (err error) {
	set.metrics.open, err = parseSwitch(s, "1 serves metrics to every client that reaches them, 0 does not")
	return err
}

func (set *settings) takePprof(s string) (err error) {
	set.metrics.profiles, err = parseSwitch(s, "1 serves profiles beside metrics, 0 does not")
	return err
}

func (set *settings) takePush(s string) error {
	set.metrics.push.url = s
	return nil
}

func (set *settings) takePushJob(s string) error {
	set.metrics.push.job = s
	return nil
}

// parseSwitch reads 1 or 0; meaning says what they do.
func parseSwitch(s, meaning string) (bool, error) {
	if s != "1" && s != "0" {
		return false, fmt.Errorf("%q: %s", s, meaning)
	}
	return s == "1", nil
}

func switchText(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// numberText is a number, "" for 0.
func numberText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
