package mpi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// sourceThreads is the boot.Info.Source of ranks that RunThreads has started.
const sourceThreads = "threads"

// sourceNone is that of a job of one rank without a launcher.
const sourceNone = "none"

// RunThreads runs n ranks as goroutines of this process, each with a world communicator of its own,
// and returns when all are done. That is a job without a launcher, for tests and for programs that
// are parallel on one host. The error joins those of the ranks. A rank that fails ends the job for
// all: what the others wait in returns an error that says which rank has failed, and why. A
// function that ends its goroutine (runtime.Goexit, and so t.FailNow and t.Fatal of a test) has
// failed; see package mpitest for tests.
//
// Messages go straight into the receiver's queues, and long ones are copied once.
// FITMPI_TRANSPORT=tcp sends them over TCP instead, as between hosts.
//
// What fn has in its variables is a rank's own, and package variables are shared by
// all, so a rank's state belongs in fn; see Main and the section on threads as ranks
// of the package's documentation.
func RunThreads(n int, fn func(ctx context.Context, world *Comm) error) error {
	return RunThreadsContext(context.Background(), n, fn)
}

// RunThreadsContext is RunThreads of a job that ends with ctx: what its ranks wait
// in fails then, and the error includes context.Cause(ctx).
func RunThreadsContext(ctx context.Context, n int, fn func(ctx context.Context, world *Comm) error) error {
	return Threads{Ranks: n}.Run(ctx, fn)
}

// Threads describes a job of thread ranks, for which RunThreads is the short form.
type Threads struct {
	Ranks int // number of ranks, at least 1

	// FaultTolerant says that the job goes on when a rank dies, as under fitrun --with-ft: a rank
	// whose function returns an error or panics, or that calls Die, has failed, and the others
	// learn it. So does FITMPI_FT=1.
	FaultTolerant bool
}

// Run runs the job: see RunThreadsContext. Of a job that is fault tolerant the error joins what the
// functions of ranks have returned that did not call Die; if all have called it, it is an error of
// class ErrProcFailed. Abort, and an error handler that aborts, end it as ever.
func (o Threads) Run(ctx context.Context, fn func(ctx context.Context, world *Comm) error) error {
	n := o.Ranks
	if n < 1 {
		return opErrorf(ErrArg, "RunThreads", "%d ranks: need at least 1", n)
	}
	if fn == nil {
		return opErrorf(ErrArg, "RunThreads", "the function is nil: give the one that every rank is to run")
	}
	raiseHeap()
	keepP := addWorkers(n)
	defer addWorkers(-n)
	t, err := newThreads(ctx, o, keepP)
	if err != nil {
		return opError(ErrOther, "RunThreads", err)
	}
	defer t.cancel(nil)
	defer t.watch()()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for r := range n {
		wg.Go(func() { t.run(r, fn, &errs[r]) })
	}
	wg.Wait()
	err = t.verdict(errs)
	if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
		return errors.Join(cause, err) // ranks that wait learn only that the job ends
	}
	return err
}

// threads is a job whose ranks are goroutines.
type threads struct {
	// Immutable after newThreads.
	ctx    context.Context
	cancel context.CancelCauseFunc
	job    [16]byte
	secret []byte
	n      int
	hasFT  bool     // the job goes on without ranks that die
	set    settings // of every rank, but for its number
	local  *local

	mu      sync.Mutex
	cards   [][]byte      // guarded by mu: by rank
	missing int           // guarded by mu: cards not given
	given   *sync.Cond    // on mu: all cards are there, or ctx has ended
	jobs    []*job        // guarded by mu; nil where a rank has failed
	gone    []bool        // guarded by mu: ranks that have finalized, by rank
	failed  map[int]error // guarded by mu: why ranks have failed, of a job that goes on
	dead    atomic.Int32  // ranks that called Die
	aborted error         // guarded by mu: why the job ends; nil if it does as it should
	first   int           // guarded by mu: the rank that has ended it so
}

// newThreads prepares a job; keepP says that there is a P for every worker to keep.
func newThreads(ctx context.Context, o Threads, keepP bool) (*threads, error) {
	n := o.Ranks
	t := &threads{n: n, hasFT: o.FaultTolerant, cards: make([][]byte, n), missing: n, jobs: make([]*job, n), gone: make([]bool, n)}
	t.job, t.secret = boot.NewJob()
	t.given = sync.NewCond(&t.mu)
	var err error
	if t.set, err = settingsOf(t.info(0), os.Getenv); err != nil {
		return nil, err
	}
	t.hasFT = t.hasFT || t.set.hasFT
	t.set.KeepP = keepP
	t.set.Doze = 0 // it would keep a P for every rank
	if t.local, err = newLocal(t.info(0), t.set.transport); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	return t, nil
}

// info is what a launcher would tell a rank.
func (t *threads) info(rank int) boot.Info {
	return boot.Info{
		Rank: rank, Size: t.n, LocalRank: rank, LocalSize: t.n, Job: t.job, Secret: t.secret,
		Source: sourceThreads, Host: hostname(), Cores: 1, ProcessRanks: t.n, FT: t.hasFT,
	}
}

// run is the life of one rank. What becomes of it is in *outcome when its goroutine ends, however
// fn ends.
func (t *threads) run(rank int, fn func(context.Context, *Comm) error, outcome *error) {
	j := t.join(rank, outcome)
	if j == nil {
		return
	}
	defer context.AfterFunc(t.ctx, func() { j.end(context.Cause(t.ctx)) })()
	var err error
	returned := false
	defer func() {
		switch r := recover(); {
		case r != nil:
			err = fmt.Errorf("rank %d panicked: %v\n%s", rank, r, debug.Stack())
		case !returned:
			err = fmt.Errorf("rank %d: %w", rank, errGoexit)
		case err != nil:
			err = fmt.Errorf("rank %d: %w", rank, err)
		}
		t.depart(rank, j, err, outcome)
	}()
	j.markMain()
	err = fn(j.ctx, j.world)
	returned = true
}

// join starts a rank. If that fails the job ends, *outcome says why, and the rank is nil.
func (t *threads) join(rank int, outcome *error) *job {
	returned := false
	fail := func(err error) {
		t.abort(rank, err)
		*outcome = err
	}
	defer ifEnded(&returned, func(ended error) { fail(fmt.Errorf("rank %d: a tool: %w", rank, ended)) })
	j, err := t.start(rank)
	if returned = true; err != nil {
		fail(err)
		return nil
	}
	return j
}

// depart settles a rank whose function has ended, with err if it has failed, and notes what is to
// be said of it as its outcome. Finalize calls functions of the user's: if one of them ends the
// goroutine the rank has failed.
func (t *threads) depart(rank int, j *job, err error, outcome *error) {
	returned := false
	defer ifEnded(&returned, func(ended error) {
		*outcome = t.settle(rank, j, errors.Join(err, fmt.Errorf("rank %d: Finalize: %w", rank, ended)))
	})
	*outcome = t.settle(rank, j, err)
	returned = true
}

// settle ends a rank whose function has ended, with err if it has failed. It returns what is to be
// said of it.
func (t *threads) settle(rank int, j *job, err error) error {
	switch {
	case j.died.Load() && !t.hasFT:
		err = fmt.Errorf("rank %d: %w", rank, errDied)
	case j.died.Load() || err != nil && t.hasFT && t.ctx.Err() == nil:
		return t.markFailed(rank, j, err)
	}
	if err != nil {
		t.abort(rank, err)
		return errors.Join(err, j.kill(), j.leave())
	}
	if j.worldScope.isOpen() {
		failed := func(err error) { t.failLate(rank, j, err) }
		if err = j.finalize(t.ctx, failed); err != nil {
			failed(err)
		}
	}
	if err != nil && j.died.Load() && t.hasFT { // another goroutine of the rank has called Die meanwhile
		t.dead.Add(1)
		return nil
	}
	return err
}

// failLate is for a rank that fails in Finalize: the others hear of it, or the job ends.
func (t *threads) failLate(rank int, j *job, err error) {
	if !t.hasFT || t.ctx.Err() != nil {
		t.abort(rank, err)
		return
	}
	if j.died.Load() {
		err = errDied
	}
	j.mute.Store(true)
	j.onFailure(err)
}

// markFailed ends a rank that has failed in a job that goes on, and tells the others. It returns
// what is to be said of it in the end: nothing of one that has died as it wanted to.
func (t *threads) markFailed(rank int, j *job, err error) error {
	cause := err
	if j.died.Load() {
		cause, err = errDied, nil
		t.dead.Add(1)
	}
	j.mute.Store(true)
	j.onFailure(cause)
	return errors.Join(err, j.kill(), j.leave())
}

// tell tells all ranks that live that another has failed.
func (t *threads) tell(rank int, cause error) {
	if !t.hasFT {
		return // the job ends
	}
	for _, other := range t.without(rank, cause) {
		if other != nil {
			other.engine.FailPeer(engine.PeerID(rank), cause)
		}
	}
}

// without returns the jobs of the ranks that live, by rank, from now on without that of rank.
func (t *threads) without(rank int, cause error) []*job {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed == nil {
		t.failed = make(map[int]error)
	}
	t.failed[rank] = cause
	t.jobs[rank] = nil
	return slices.Clone(t.jobs)
}

func (t *threads) start(rank int) (*job, error) {
	s := &threadSession{t: t, rank: rank, events: make(chan boot.Event)}
	set := t.set
	set.Rank = rank
	j, err := startJob(t.ctx, "Init", s, set, t.local)
	if err != nil {
		return nil, err
	}
	j.setAbort(func(code int, message string) {
		if !j.died.Load() { // what is left of a dead rank does not end the others
			t.abort(rank, abortError(rank, code, message))
		}
	})
	j.onFailure = func(cause error) { t.tell(rank, cause) }
	t.mu.Lock()
	t.jobs[rank] = j
	fallen := maps.Clone(t.failed)
	t.mu.Unlock()
	for r, cause := range fallen { // while this one was on its way
		j.engine.FailPeer(engine.PeerID(r), cause)
	}
	return j, nil
}

// abort ends the job for all ranks, because of what a rank has said; the first cause counts.
func (t *threads) abort(rank int, cause error) {
	t.mu.Lock()
	if t.aborted == nil {
		t.aborted, t.first = cause, rank
	}
	t.mu.Unlock()
	t.cancel(cause)
}

// wakeAll wakes the ranks that wait for cards. The mutex makes sure that no rank is between looking
// at ctx and waiting.
func (t *threads) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given.Broadcast()
}

// verdict is what has ended the job, else what the ranks returned.
func (t *threads) verdict(errs []error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aborted == nil {
		if t.dead.Load() == int32(t.n) {
			return opErrorf(ErrProcFailed, "RunThreads", "all ranks have died")
		}
		return errors.Join(errs...)
	}
	if err := errs[t.first]; errors.Is(err, t.aborted) {
		return err // and what it said besides
	}
	return t.aborted
}

// abortError says that a rank has called Abort, as a launcher would.
func abortError(rank, code int, message string) error {
	return &abortedError{rank, code, message}
}

type abortedError struct {
	rank, code int
	message    string
}

func (e *abortedError) Error() string {
	return fmt.Sprintf("rank %d aborted the job with exit code %d: %s", e.rank, e.code, e.message)
}

// threadSession is the boot.Session of a thread rank.
type threadSession struct {
	t      *threads
	rank   int
	once   sync.Once
	events chan boot.Event
}

// Info implements boot.Session.
func (s *threadSession) Info() boot.Info { return s.t.info(s.rank) }

// Exchange implements boot.Session.
func (s *threadSession) Exchange(ctx context.Context, card []byte) ([][]byte, error) {
	t := s.t
	defer context.AfterFunc(t.ctx, t.wakeAll)()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cards[s.rank] = card
	if t.missing--; t.missing == 0 {
		t.given.Broadcast()
	}
	for t.missing > 0 && t.ctx.Err() == nil {
		t.given.Wait()
	}
	if t.missing > 0 {
		return nil, context.Cause(t.ctx)
	}
	return t.cards, nil
}

// Finalizing implements boot.Session.
func (s *threadSession) Finalizing(context.Context) error {
	s.t.mu.Lock()
	defer s.t.mu.Unlock()
	s.t.gone[s.rank] = true
	return nil
}

// Abort implements boot.Session.
func (s *threadSession) Abort(code int, message string) error {
	s.t.abort(s.rank, abortError(s.rank, code, message))
	return nil
}

// Answer implements boot.Session: no launcher asks.
func (s *threadSession) Answer(int, []byte) error { return nil }

// Report implements boot.Session.
func (s *threadSession) Report(string, string) error { return nil }

// Bell implements boot.Session.
func (s *threadSession) Bell(int, func(*os.File)) error {
	return errors.New("there is no launcher that has bells: the ranks are threads of one process")
}

// Events implements boot.Session.
func (s *threadSession) Events() <-chan boot.Event { return s.events }

// Close implements boot.Session.
func (s *threadSession) Close() error {
	s.once.Do(func() { close(s.events) })
	return nil
}
