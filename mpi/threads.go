//go:build linux

package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// sourceThreads is the boot.Info.Source of ranks that RunThreads has started.
const sourceThreads = "threads"

// RunThreads runs n ranks as goroutines of this process, each with a world
// communicator of its own, and returns when all are done: a job without a
// launcher, for tests and for programs that are parallel on one host. The error
// joins those of the ranks; one that fails ends the job for all.
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
	if n < 1 {
		return opErrorf(ErrArg, "RunThreads", "%d ranks: need at least 1", n)
	}
	keepP := addWorkers(n)
	defer addWorkers(-n)
	t, err := newThreads(ctx, n, keepP)
	if err != nil {
		return opError(ErrOther, "RunThreads", err)
	}
	defer t.cancel(nil)
	var wg sync.WaitGroup
	errs := make([]error, n)
	for r := range n {
		wg.Go(func() { errs[r] = t.run(r, fn) })
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
	set    settings // of every rank, but for its number
	local  *local

	mu      sync.Mutex
	cards   [][]byte   // guarded by mu: by rank
	missing int        // guarded by mu: cards not given
	given   *sync.Cond // on mu: all cards are there, or ctx has ended
	jobs    []*job     // guarded by mu
	aborted error      // guarded by mu: what the first Abort said
}

// newThreads prepares a job; keepP says that there is a P for every worker to keep.
func newThreads(ctx context.Context, n int, keepP bool) (*threads, error) {
	t := &threads{n: n, cards: make([][]byte, n), missing: n, jobs: make([]*job, n)}
	t.job, t.secret = boot.NewJob()
	t.given = sync.NewCond(&t.mu)
	var err error
	if t.set, err = settingsOf(t.info(0), os.Getenv); err != nil {
		return nil, err
	}
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
		Source: sourceThreads, Host: hostname(), Cores: 1, ProcessRanks: t.n,
	}
}

// run is the life of one rank.
func (t *threads) run(rank int, fn func(context.Context, *Comm) error) (err error) {
	j, err := t.start(rank)
	if err != nil {
		t.abort(err)
		return err
	}
	defer context.AfterFunc(t.ctx, func() { j.end(context.Cause(t.ctx)) })()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("rank %d panicked: %v\n%s", rank, r, debug.Stack())
		}
		if err != nil {
			t.abort(err)
			err = errors.Join(err, j.kill(), j.leave())
			return
		}
		if !j.finalized.Load() {
			if err = j.finalize(t.ctx); err != nil {
				t.abort(err)
			}
		}
	}()
	j.markMain()
	if err := fn(j.ctx, j.world); err != nil {
		return fmt.Errorf("rank %d: %w", rank, err)
	}
	return nil
}

func (t *threads) start(rank int) (*job, error) {
	s := &threadSession{t: t, rank: rank, events: make(chan boot.Event)}
	set := t.set
	set.Rank = rank
	j, err := startJob(t.ctx, s, set, t.local)
	if err != nil {
		return nil, err
	}
	j.abort = func(code int, message string) { t.abort(fmt.Errorf("%s (exit code %d)", message, code)) }
	t.mu.Lock()
	t.jobs[rank] = j
	t.mu.Unlock()
	return j, nil
}

// abort ends the job for all ranks; the first cause counts.
func (t *threads) abort(cause error) {
	t.mu.Lock()
	if t.aborted == nil {
		t.aborted = cause
	}
	t.mu.Unlock()
	t.cancel(cause)
}

// wakeAll wakes whoever waits for cards. The mutex makes sure that nobody is
// between looking at ctx and waiting.
func (t *threads) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.given.Broadcast()
}

// verdict joins what the ranks returned, the first cause first.
func (t *threads) verdict(errs []error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.aborted == nil {
		return errors.Join(errs...)
	}
	for _, err := range errs {
		if err != nil && errors.Is(err, t.aborted) {
			return err
		}
	}
	return t.aborted
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
func (s *threadSession) Finalizing(context.Context) error { return nil }

// Abort implements boot.Session.
func (s *threadSession) Abort(code int, message string) error {
	s.t.abort(fmt.Errorf("%s (exit code %d)", message, code))
	return nil
}

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
