package mpi

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/netif"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/telemetry"
	"github.com/fitmpi/fitmpi/mpi/internal/coll"
)

// job is one rank's part in a parallel job.
type job struct {
	// Immutable after startJob.
	engine    *engine.Engine
	mover     mover // the engine
	session   boot.Session
	id        string       // the bytes of the id of the job
	kin       boot.Kin     // as the launcher has told it; Root is never empty
	size      int          // of the world
	card      []byte       // that it has given the others
	ways      *world       // out of this host
	local     *local       // what it has in common with the other ranks of its process
	kill      func() error // stops the engine at once; returns when it has stopped
	logger    *slog.Logger
	host      string
	joined    int64       // when it took part, by sys.Nanotime
	swaps     bool        // this rank's byte order is not that in which the job's messages travel
	formal    bool        // plain memory does not travel as it is: swaps or checks
	nodes     []int       // number of the machine of each rank; nil if all are on one
	levels    [][]int     // by which ranks are near each other, see levelsOf
	choice    coll.Choice // of algorithms, by FITMPI_COLL
	checks    bool        // FITMPI_CHECK: messages carry their signatures; the same at every rank
	checker   *checker    // nil unless checks
	world     *Comm
	self      *Comm
	parent    *Comm                          // with the ranks that have spawned this job; nil if none have
	apps      []int                          // which of the job's programs each rank runs; nil if all run one
	abort     func(code int, message string) // ends the whole job; may not return
	onFailure func(cause error)              // of a thread rank: tells the others that it has failed
	metrics   telemetry.Server               // nil if not asked for
	push      pushing
	set       *settings
	tools     *toolchain // nil if the rank has none

	calls     callTable // of collectives
	siteNames siteNames

	reportedPeers atomic.Int64  // the first peer of the next report, if a report has no room for all
	nextContext   atomic.Uint32 // how many contexts this rank has led
	finalizing    atomic.Bool   // Finalize was called
	finalized     atomic.Bool   // communication has ended for the user, for good or, while the rank is idle, for now
	died          atomic.Bool   // Die was called
	mute          atomic.Bool   // this rank has failed: others hang up on it, which is no failure of theirs, so it says and decides nothing more
	spoken        atomic.Bool   // what it reports from now on is its final report

	collFailed  atomic.Bool   // a collective has failed
	endCode     atomic.Int32  // exit code that goes with the end of the job from outside; 0 if there is none
	mainRoutine atomic.Uint64 // number of the goroutine that is the rank's main thread

	worldScope scope // of world, self and what comes from them
	life       life

	requests atomic.Pointer[requestSlab] // for requests that are to be made
	shorts   atomic.Pointer[shortSlab]   // for those of short messages

	buffer    bufferSlot // of buffered sends over communicators without a buffer of their own
	buffers   attachedBuffers
	comms     *commList // that live
	accords   accords   // in which it takes part
	faults    faults
	abroad    abroad
	ports     ports
	published published
	asked     inquiries

	datareps datareps
	fileErrh atomic.Pointer[FileErrhandler] // of files that are to be opened; nil until it is set
	diskUses atomic.Int32                   // goroutines of the library that use a file at the moment

	ctx    context.Context // ends when the job does
	base   context.Context // that ctx comes from, and Finalize is bounded by
	cancel context.CancelCauseFunc
	events sync.WaitGroup // waits for watch and inquiries
}

// startJob joins the job that session leads to, in the call op, by which tools know it. l is left
// when the job is, or here if that fails; session is the caller's until it succeeds.
func startJob(ctx context.Context, op string, session boot.Session, set settings, l *local) (*job, error) {
	info := session.Info()
	j := &job{session: session, local: l, logger: set.Logger, host: info.Host, choice: set.coll, checks: set.checks, set: &set, comms: new(commList), kin: info.Kin, size: info.Size}
	if j.kin.Root == "" {
		j.kin.Root = hex.EncodeToString(info.Job[:])
	}
	j.life.world = true
	if j.checks {
		j.checker = newChecker()
	}
	returned := false
	var err error
	defer ifEnded(&returned, func(ended error) { j.breakOff(op, err, ended) }) // by a tool
	j.tools = attachTools(info, j.checker)
	if j.tools != nil && j.tools.rec != nil {
		j.tools.rec.number = j.numberOf
	}
	j.warnUnknown(info)
	told := j.tools.newCall(op).begin()
	err = j.start(ctx, info, set)
	told.endInit(j, err)
	if returned = true; err != nil {
		j.tools.detach()
		return nil, err
	}
	return j, nil
}

// breakOff ends what startJob has begun in the call op, and the job if the rank has joined that;
// failed is why start has failed, if it has, and then has left nothing behind.
func (j *job) breakOff(op string, failed, ended error) {
	if j.world != nil {
		_ = j.session.Abort(toolExit, fmt.Sprintf("%s: a tool: %v", op, ended)) // it is said on standard error as well
		_ = j.leave()
	}
	if failed == nil {
		_ = j.local.leave()
	}
	j.tools.detach()
}

// start is startJob for a new job.
func (j *job) start(ctx context.Context, info boot.Info, set settings) error {
	l := j.local
	cfg := set.Config
	cfg.Observer = j.tools.observer()
	cfg.OnSignal, cfg.OnPeerGone, cfg.Family = j.onSignal, j.onPeerGone, contextFamily
	cfg.Streams = streamTags
	j.faults.hasFT = info.FT || set.hasFT
	j.faults.worded = j.faults.hasFT && info.Source == "fitrun"
	j.faults.gossips = j.faults.hasFT && !j.faults.worded && info.Source != sourceThreads
	cfg.Process, cfg.Segment, cfg.Index = l.process, l.segment, info.LocalRank
	if l.segment != nil {
		cfg.Bell, cfg.AskBell = info.Bell, j.askBell
	}
	cfg.OnSuspect = j.suspect
	ifs, err := set.net.listen(&cfg, set.transport == transportTCP && info.Size > 1)
	if err != nil {
		return errors.Join(err, l.leave())
	}
	if j.engine, err = engine.Listen(cfg); err != nil {
		return errors.Join(err, l.leave())
	}
	j.mover = j.engine
	j.kill = sync.OnceValue(func() error {
		err := j.engine.Kill()
		j.accords.stop(j.engine)
		return err
	})
	j.base = ctx
	j.ctx, j.cancel = context.WithCancelCause(context.WithValue(ctx, rankKey{}, j))
	if err := j.connect(ctx, info, set, ifs); err != nil {
		j.cancel(err)
		return errors.Join(err, j.kill(), l.leave())
	}
	j.makeComms(info)
	j.joined = sys.Nanotime()
	j.events.Go(j.watch)
	return nil
}

// setAbort says how the whole job is ended.
func (j *job) setAbort(abort func(code int, message string)) {
	j.abort = abort
	if j.tools != nil {
		j.tools.setAbort(abort)
	}
}

// makeComms makes the communicators that every job has.
func (j *job) makeComms(info boot.Info) {
	peers := make([]engine.PeerID, info.Size)
	for r := range peers {
		peers[r] = engine.PeerID(r)
	}
	j.world = newComm(j, &j.worldScope, "world", info.Rank, peers, contextID(0, contextWorld))
	j.self = newComm(j, &j.worldScope, "self", 0, peers[info.Rank:info.Rank+1:info.Rank+1], contextID(info.Rank, contextSelf))
	j.setFirstHandlers()
}

// connect exchanges cards and fills the engine's bridge table; ifs are the interfaces of this host,
// if they matter.
func (j *job) connect(ctx context.Context, info boot.Info, set settings, ifs []netif.Interface) error {
	mine, err := json.Marshal(newCard(info, set, j.local, j.engine.Addrs()))
	if err != nil {
		return err
	}
	j.id, j.card, j.ways = string(info.Job[:]), mine, newWorld(&info, ifs)
	raw, err := j.session.Exchange(ctx, mine)
	if err != nil {
		return err
	}
	cards, err := readCards(raw)
	if err != nil {
		return err
	}
	peers, err := bridge(cards, info.Rank, j.ways)
	if err != nil {
		return err
	}
	if set.transport == transportShm {
		if err := checkShared(cards, peers, info.Rank, j.local.why); err != nil {
			return err
		}
	}
	if info.Source != "fitrun" {
		j.asked.procs = procsOf(cards, info.Rank)
	}
	j.nodes = nodesOf(cards)
	j.levels = levelsOf(cards, j.nodes)
	j.apps = appsOf(cards)
	j.swaps = bigEndian != engine.PayloadsBigEndian(peers)
	j.formal = j.swaps || j.checks
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
	questions := make(chan boot.Event, boot.MaxQuestions) // several may ask at once: the watch, the page, fitrun status
	defer close(questions)
	j.events.Go(func() { // not here: to answer may take a while, and what follows must not wait for it
		for q := range questions {
			if q.Message == telemetry.AskCollect {
				j.events.Go(func() { j.answer(q) }) // takes longer yet
				continue
			}
			j.answer(q)
		}
	})
	for ev := range j.session.Events() {
		switch ev.Kind {
		case boot.Asked:
			select {
			case questions <- ev:
			default: // as a session does with events that nothing reads
			}
		case boot.PeerFailed:
			j.faults.said(engine.PeerID(ev.Rank))
			j.engine.FailPeer(engine.PeerID(ev.Rank), &launchersWord{ev.Message})
			j.accords.memberFailed(j.engine, engine.PeerID(ev.Rank)) // which does not know of one that was lost before
		case boot.ForeignFailed:
			for _, f := range boot.TakeForeign(j.session) {
				j.foreignFailed(identity{string(f.Job[:]), f.Rank}, f.Message)
			}
		case boot.JobAborted:
			j.endCode.Store(int32(ev.Code & 0xff))
			j.exitSoon()
			j.end(fmt.Errorf("the job was aborted: %s", ev.Message))
		case boot.LauncherGone:
			if !j.finalized.Load() {
				j.exitAfter(exitGrace)
				j.end(errors.New("the launcher is gone"))
			}
		}
	}
}

// exitSoon ends the process if the program does not return soon from a job that has ended. fitrun
// does that for its ranks, but under other launchers one that only computes would go on.
func (j *job) exitSoon() {
	if j.session.Info().Source != "fitrun" {
		j.exitAfter(exitGrace)
	}
}

// exitAfter ends the process after d: there may be nothing else that does.
func (j *job) exitAfter(d time.Duration) {
	time.AfterFunc(d, func() { os.Exit(max(1, int(j.endCode.Load()))) })
}

// end stops all communication of this rank; calls that wait return errors.
func (j *job) end(cause error) {
	j.cancel(cause)
	if err := j.kill(); err != nil {
		fmt.Fprintln(os.Stderr, "mpi:", err)
	}
}

// endText says that the job ends, and why, if that is known. It is a text, for the cause may be an
// error of another rank's operation, whose class is not that of those that end with the job.
func (j *job) endText() string {
	cause := context.Cause(j.ctx)
	if cause == nil {
		cause = context.Cause(j.base) // which ends ctx in this moment
	}
	if cause == nil || cause == context.Canceled {
		return "the job is ending"
	}
	text, _, _ := strings.Cut(cause.Error(), "\n") // without the stack of a panic
	return "the job is ending: " + text
}

// closeTimeout bounds how long a rank waits for the goodbyes of the others.
const closeTimeout = 5 * time.Second

// finalize ends this rank's part of the job. What fails is first told to failed, if that is not
// nil: the launcher can still be reached then, and the job is not at an end for this rank.
func (j *job) finalize(ctx context.Context, failed func(error)) (err error) {
	if !j.finalizing.CompareAndSwap(false, true) {
		return opErrorf(ErrOther, "Finalize", "called twice")
	}
	defer j.world.begin("Finalize").endAt(&err)
	left := j.deleteAttributes()
	err = j.closeWorld(ctx)
	switch end, open := j.endOf(err); {
	case open != nil:
		left = errors.Join(left, open)
	case end == goesOn:
		return errors.Join(left, err, j.worldLeft())
	case end == idles:
		if err := j.retire(ctx, finalizeCall); err != nil {
			left = errors.Join(left, err)
		}
		return errors.Join(left, j.worldLeft())
	}
	told := failed == nil
	tell := func(err error) {
		if !told {
			told = true
			failed(err)
		}
	}
	if err = j.part(ctx, err, tell); err == nil {
		err = j.leftBehind()
	}
	if err != nil {
		tell(err)
	}
	return errors.Join(left, err, j.leave())
}

// closeWorld ends the use of the world, and waits for all ranks. Messages that were given up it
// calls back before: the ranks that they are for may be gone after it.
func (j *job) closeWorld(ctx context.Context) error {
	j.worldScope.state.Store(scopeOver)
	j.life.mu.Lock()
	j.finalized.Store(j.life.sessions == 0)
	j.life.mu.Unlock()
	j.flushBuffers(&j.worldScope)
	j.engine.CallBack(ctx)
	err := j.meetLast(ctx)
	if err == nil {
		j.meetAbroad(ctx)
	}
	return err
}

// part says goodbye and stops the engine, at once if there was an error before, which it returns
// too. It tells failed of such an error while the engine runs: others would be first to say that
// this rank is gone, and do not know why.
func (j *job) part(ctx context.Context, before error, failed func(error)) (err error) {
	j.reportLosses()
	j.finalized.Store(true)
	if err = before; err == nil {
		j.finalReport()
		err = j.session.Finalizing(ctx)
	}
	if err == nil {
		err = j.engine.Close(closeTimeout)
		j.pushMetrics()
	} else {
		failed(err)
		err = errors.Join(err, j.kill())
	}
	return err
}

// leave closes what is not the engine's, in the order in which the one needs the other:
// the engine, the session. The memory that is shared with other processes stays mapped:
// a goroutine of the user may be inside a call still, and look there whether a peer
// sleeps. A process has one such job at most, and the mapping goes with it.
//
// Preconditions:
//   - the engine is closed, or another goroutine is about to kill it.
func (j *job) leave() (err error) {
	if j.metrics != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		err = j.metrics.Close(ctx)
	}
	j.published.takeBack(j.names())
	err = errors.Join(err, j.ports.closeAll(), j.kill(), j.session.Close())
	j.asked.end()
	j.events.Wait()
	j.cancel(nil)
	j.tools.detach()
	return err
}

// scope is what a communicator or a group comes from: the world model, which Init and Main open and
// Finalize closes, or a session. What comes from different scopes must not meet in one operation
// (MPI 4.1, section 11.3).
type scope struct {
	state   atomic.Uint32 // one of those below
	session *Session      // immutable; nil: the world model's
}

// The states of a scope, in the order in which it passes through them; a session is never absent.
const (
	scopeOpen   = iota // operations may begin
	scopeAbsent        // Init and Main were not called yet
	scopeOver          // Finalize was called
)

func (s *scope) isOpen() bool { return s.state.Load() == scopeOpen }

// closed says why no operation may begin, nil if it may.
func (s *scope) closed(op string) *Error {
	switch state := s.state.Load(); {
	case state == scopeOpen:
		return nil
	case s.session != nil:
		return opErrorf(ErrSession, op, "%s is finalized: use what comes from a session before Session.Finalize", s.session)
	case state == scopeAbsent:
		return opErrorf(ErrComm, op, "the world was not initialized: call Init or Main, or make communicators of the session's own groups")
	default:
		return opErrorf(ErrOther, op, "MPI is finalized: communicate before Finalize, or before the function of Main returns")
	}
}

// String says in words what the scope is.
func (s *scope) String() string {
	if s.session != nil {
		return s.session.String()
	}
	return "the world model"
}

// mixes says that what comes from s meets what comes from o, nil if they are the same.
func (s *scope) mixes(class ErrorClass, op string, o *scope) *Error {
	if s == o {
		return nil
	}
	return opErrorf(class, op, "one comes from %v and the other from %v: what comes from different sessions, or from a session and from Init, must not be mixed", s, o)
}
