//go:build linux

package mpi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/coll"
	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/metrics"
)

// job is one rank's part in a parallel job.
type job struct {
	// Immutable after startJob.
	engine  *engine.Engine
	session boot.Session
	local   *local       // what it has in common with the other ranks of its process
	kill    func() error // stops the engine at once; returns when it has stopped
	logger  *slog.Logger
	host    string
	swaps   bool        // this rank's byte order is not that in which the job's messages travel
	nodes   []int       // number of the machine of each rank; nil if all are on one
	levels  [][]int     // by which ranks are near each other, see levelsOf
	choice  coll.Choice // of algorithms, by FITMPI_COLL
	checks  bool        // FITMPI_CHECK: messages carry their signatures; the same at every rank
	world   *Comm
	self    *Comm
	abort   func(code int, message string) // ends the whole job; may not return
	metrics *metrics.Server                // nil if not asked for
	push    pushing

	nextContext atomic.Uint32 // how many contexts this rank has led
	finalizing  atomic.Bool   // Finalize was called
	finalized   atomic.Bool   // communication has ended for the user

	endCode     atomic.Int32  // exit code that goes with the end of the job by somebody else; 0 if there is none
	mainRoutine atomic.Uint64 // number of the goroutine that is the rank's main thread

	buffer  bufferSlot // of buffered sends over communicators without a buffer of their own
	buffers attachedBuffers

	ctx    context.Context // ends when the job does
	cancel context.CancelCauseFunc
	events sync.WaitGroup // waits for watch
}

// startJob joins the job that session leads to. l is left when the job is, or here if
// that fails; session is the caller's until it succeeds.
func startJob(ctx context.Context, session boot.Session, set settings, l *local) (*job, error) {
	info := session.Info()
	j := &job{session: session, local: l, logger: set.Logger, host: info.Host, choice: set.coll, checks: set.checks}
	cfg := set.Config
	cfg.Process, cfg.Segment, cfg.Index = l.process, l.segment, info.LocalRank
	if l.segment != nil {
		cfg.Bell, cfg.AskBell = info.Bell, j.askBell
	}
	ifs, err := set.net.listen(&cfg)
	if err != nil {
		return nil, errors.Join(err, l.leave())
	}
	if j.engine, err = engine.Listen(cfg); err != nil {
		return nil, errors.Join(err, l.leave())
	}
	j.kill = sync.OnceValue(j.engine.Kill)
	j.ctx, j.cancel = context.WithCancelCause(ctx)
	if err := j.connect(ctx, info, set, ifs); err != nil {
		j.cancel(err)
		return nil, errors.Join(err, j.kill(), l.leave())
	}
	j.makeComms(info, set.errh)
	j.events.Go(j.watch)
	return j, nil
}

// makeComms makes the communicators that every job has, with their first error handler (MPI 4.1, section 9.3).
func (j *job) makeComms(info boot.Info, errh Errhandler) {
	peers := make([]engine.PeerID, info.Size)
	for r := range peers {
		peers[r] = engine.PeerID(r)
	}
	j.world = newComm(j, "world", info.Rank, peers, contextID(0, contextWorld))
	j.self = newComm(j, "self", 0, peers[info.Rank:info.Rank+1:info.Rank+1], contextID(info.Rank, contextSelf))
	j.world.SetErrhandler(errh)
	j.self.SetErrhandler(errh)
}

// connect exchanges cards and fills the engine's bridge table; ifs are the interfaces of this host, if they matter.
func (j *job) connect(ctx context.Context, info boot.Info, set settings, ifs []netif.Interface) error {
	mine, err := json.Marshal(newCard(info, set, j.local, j.engine.Addrs()))
	if err != nil {
		return err
	}
	raw, err := j.session.Exchange(ctx, mine)
	if err != nil {
		return err
	}
	cards, err := readCards(raw)
	if err != nil {
		return err
	}
	peers, err := bridge(cards, info.Rank, newWorld(&info, ifs))
	if err != nil {
		return err
	}
	if set.transport == transportShm {
		if err := checkShared(cards, peers, info.Rank, j.local.why); err != nil {
			return err
		}
	}
	j.nodes = nodesOf(cards)
	j.levels = levelsOf(cards, j.nodes)
	j.swaps = bigEndian != engine.PayloadsBigEndian(peers)
	if err := j.engine.Start(peers); err != nil {
		return err
	}
	return j.session.Report(boot.TransportKey, j.transports(peers))
}

// askBell asks the launcher for the bell of the rank of this host with the index. A
// bell that does not come is a rank that is not woken, so that must not go unseen.
func (j *job) askBell(index int) {
	err := j.session.Bell(index, func(f *os.File) { j.takeBell(index, f) })
	if err != nil && j.ctx.Err() == nil && !j.finalized.Load() {
		j.logger.Error("asking for a bell", "rank", j.engine.Rank(), "index", index, "err", err)
	}
}

func (j *job) takeBell(index int, f *os.File) {
	defer f.Close()
	if err := j.engine.SetBell(index, f); err != nil && j.ctx.Err() == nil && !j.finalized.Load() {
		j.logger.Error("taking a bell", "rank", j.engine.Rank(), "index", index, "err", err)
	}
}

// watch acts on the launcher's news until the session is closed.
func (j *job) watch() {
	for ev := range j.session.Events() {
		switch ev.Kind {
		case boot.PeerFailed:
			j.engine.FailPeer(engine.PeerID(ev.Rank), errors.New(ev.Message))
		case boot.JobAborted:
			j.endCode.Store(int32(ev.Code & 0xff))
			j.exitSoon()
			j.end(fmt.Errorf("the job was aborted: %s", ev.Message))
		case boot.LauncherGone:
			if !j.finalized.Load() {
				j.exitSoon()
				j.end(errors.New("the launcher is gone"))
			}
		}
	}
}

// exitSoon ends the process if the program does not return soon from a job that has ended. fitrun does that for its ranks,
// but under other launchers one that only computes would go on.
func (j *job) exitSoon() {
	if j.session.Info().Source != "fitrun" {
		time.AfterFunc(exitGrace, func() { os.Exit(max(1, int(j.endCode.Load()))) })
	}
}

// end stops all communication of this rank; calls that wait return errors.
func (j *job) end(cause error) {
	j.cancel(cause)
	if err := j.kill(); err != nil {
		fmt.Fprintln(os.Stderr, "mpi:", err)
	}
}

// closeTimeout bounds how long a rank waits for the goodbyes of the others.
const closeTimeout = 5 * time.Second

// finalize deletes the attributes of self and world, while communication still works, then waits for all ranks, says goodbye
// and stops the engine.
func (j *job) finalize(ctx context.Context) error {
	if !j.finalizing.CompareAndSwap(false, true) {
		return opErrorf(ErrOther, "Finalize", "called twice")
	}
	failed := j.deleteAttributes()
	j.finalized.Store(true)
	j.flushBuffers()
	last := newComm(j, "world", j.world.rank, j.world.peers, contextID(0, contextFinalize))
	last.ctx = ctx
	last.SetErrhandler(ErrorsReturn)
	err := j.barrier(last)
	if err == nil {
		err = j.session.Finalizing(ctx)
	}
	if err == nil {
		err = j.engine.Close(closeTimeout)
		j.pushMetrics()
	} else {
		err = errors.Join(err, j.kill())
	}
	return errors.Join(failed, err, j.leave())
}

func (j *job) barrier(c *Comm) error {
	r := startBarrier(c, "Finalize")
	_, err := r.Wait()
	return err
}

// leave closes what is not the engine's, in the order in which the one needs the other:
// the engine, the session. The memory that is shared with other processes stays mapped:
// a goroutine of the user may be inside a call still, and look there whether a peer
// sleeps. A process has one such job at most, and the mapping goes with it.
//
// Preconditions:
//   - the engine is closed, or somebody is about to have killed it.
func (j *job) leave() error {
	var err error
	if j.metrics != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = j.metrics.Close(ctx)
	}
	err = errors.Join(err, j.kill(), j.session.Close())
	j.events.Wait()
	j.cancel(nil)
	return err
}
