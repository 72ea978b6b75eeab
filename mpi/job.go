//go:build linux

package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/metrics"
)

// job is one rank's part in a parallel job.
type job struct {
	// Immutable after startJob.
	engine  *engine.Engine
	session boot.Session
	host    string
	world   *Comm
	self    *Comm
	abort   func(code int, message string) // ends the whole job; may not return
	metrics *metrics.Server                // nil if not asked for

	nextContext atomic.Uint32 // number of the next context that this rank leads
	finalized   atomic.Bool

	ctx    context.Context // ends when the job does
	cancel context.CancelCauseFunc
	events sync.WaitGroup // waits for watch
}

// The contexts that every job has: of the world, of the barrier of Finalize, and
// of each rank's self. Each number stands for two: point-to-point and collective.
const (
	contextWorld = iota
	contextFinalize
	contextSelf
	contextFirst
)

// contextID is the job-wide name of the n-th context that a rank leads: nobody
// needs to agree on it, so goroutines may make communicators side by side.
func contextID(leader, n int) engine.ContextID {
	return engine.ContextID(leader)<<32 | engine.ContextID(n)<<1
}

// card is what a rank tells the others of itself.
type card struct {
	Addr string `json:"addr"`
	Host string `json:"host"`
}

// startJob joins the job that session leads to.
func startJob(ctx context.Context, session boot.Session, cfg engine.Config) (*job, error) {
	info := session.Info()
	e, err := engine.Listen(cfg)
	if err != nil {
		return nil, err
	}
	j := &job{engine: e, session: session, host: info.Host}
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	j.nextContext.Store(contextFirst)
	if err := j.connect(ctx, info); err != nil {
		return nil, errors.Join(err, e.Kill())
	}
	peers := make([]engine.PeerID, info.Size)
	for r := range peers {
		peers[r] = engine.PeerID(r)
	}
	j.world = newComm(j, "world", info.Rank, peers, contextID(0, contextWorld))
	j.self = newComm(j, "self", 0, peers[info.Rank:info.Rank+1:info.Rank+1], contextID(info.Rank, contextSelf))
	j.world.SetErrhandler(ErrorsAreFatal)
	j.self.SetErrhandler(ErrorsAreFatal)
	j.events.Go(j.watch)
	return j, nil
}

// connect exchanges cards and fills the engine's bridge table.
func (j *job) connect(ctx context.Context, info boot.Info) error {
	mine, err := json.Marshal(card{Addr: j.engine.Addr().String(), Host: info.Host})
	if err != nil {
		return err
	}
	cards, err := j.session.Exchange(ctx, mine)
	if err != nil {
		return err
	}
	peers := make([]engine.PeerInfo, len(cards))
	for r, b := range cards {
		var c card
		if err := json.Unmarshal(b, &c); err != nil {
			return fmt.Errorf("the card of rank %d: %w", r, err)
		}
		addr, err := netip.ParseAddrPort(c.Addr)
		if err != nil {
			return fmt.Errorf("the card of rank %d: %w", r, err)
		}
		peers[r] = engine.PeerInfo{Addr: addr, Host: c.Host}
	}
	return j.engine.Start(peers)
}

// serveMetrics starts the metrics server if the launcher or the environment asks.
func (j *job) serveMetrics(info boot.Info, getenv func(string) string) error {
	addr := getenv(envMetrics)
	if info.MetricsRequested {
		addr = info.MetricsAddr
	}
	if addr == "" {
		return nil
	}
	s, err := metrics.Serve(addr, info.Rank, j.engine.Stats)
	if err != nil {
		return fmt.Errorf("metrics at %s: %w", addr, err)
	}
	j.metrics = s
	return j.session.Report(boot.MetricsKey, s.Addr().String())
}

// watch acts on the launcher's news until the session is closed.
func (j *job) watch() {
	for ev := range j.session.Events() {
		switch ev.Kind {
		case boot.PeerFailed:
			j.engine.FailPeer(engine.PeerID(ev.Rank), errors.New(ev.Message))
		case boot.JobAborted:
			j.end(fmt.Errorf("the job was aborted: %s", ev.Message))
		case boot.LauncherGone:
			if !j.finalized.Load() {
				j.end(errors.New("the launcher is gone"))
			}
		}
	}
}

// end stops all communication of this rank; calls that wait return errors.
func (j *job) end(cause error) {
	j.cancel(cause)
	if err := j.engine.Kill(); err != nil {
		fmt.Fprintln(os.Stderr, "mpi:", err)
	}
}

// closeTimeout bounds how long a rank waits for the goodbyes of the others.
const closeTimeout = 5 * time.Second

// finalize waits for all ranks, says goodbye and stops the engine.
func (j *job) finalize(ctx context.Context) error {
	if !j.finalized.CompareAndSwap(false, true) {
		return opErrorf(ErrOther, "Finalize", "called twice")
	}
	j.engine.Detach(false)
	last := newComm(j, "world", j.world.rank, j.world.peers, contextID(0, contextFinalize))
	last.ctx = ctx
	last.SetErrhandler(ErrorsReturn)
	err := j.barrier(last)
	if err == nil {
		err = j.session.Finalizing(ctx)
	}
	if err == nil {
		err = j.engine.Close(closeTimeout)
	} else {
		err = errors.Join(err, j.engine.Kill())
	}
	return errors.Join(err, j.leave())
}

func (j *job) barrier(c *Comm) error {
	r := startBarrier(c, "Finalize")
	_, err := r.Wait()
	return err
}

// leave closes what is not the engine's.
func (j *job) leave() error {
	var err error
	if j.metrics != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = j.metrics.Close(ctx)
	}
	err = errors.Join(err, j.session.Close())
	j.events.Wait()
	j.cancel(nil)
	return err
}
