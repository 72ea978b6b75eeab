package mpi

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/mpi/internal/rma"
)

// Win is a window: memory of each rank of a communicator that the others may read and change
// without its doing (MPI 4.1, chapter 12).
//
// What concerns a rank's memory is done by the goroutine that makes progress at that rank, while
// its program computes: the program need not call anything there. (Under the policy caller there is
// no such helper, and it is done inside calls of any kind.) Elements travel as their memory: a T
// with pointers is an error of class [ErrType].
//
// Operations must stand within an epoch: between two calls of Fence, between Start and Complete, or
// between Lock or LockAll and its counterpart. An operation outside is an error of class
// [ErrRMASync]. A program may read and write its own memory as it likes while no epoch of others
// concerns it. The calls that end an epoch, at either end, make what was done visible, in the sense
// of Go's memory model too.
//
// A Win is safe for concurrent use, except that collective operations must be started in the same
// order at all its ranks.
type Win struct {
	*win
	// Layouts of operations made through this value; nil = buffers are whole.
	originType, targetType *Datatype
}

// win is what all values of one window share.
type win struct {
	// Immutable after makeWin.
	comm   *Comm     // private: its contexts are the window's, its error handler is asked
	flavor WinFlavor // how it was made
	base   []byte    // this rank's memory; nil if the window is dynamic
	size   int       // bytes of base
	unit   int       // bytes that displacements at this rank count
	ranks  []winRank
	shared *sharedPart // of WinAllocateShared; else nil
	mates  []mate      // by rank
	guard  guard       // of base

	served  exposure       // what others may do here
	service engine.Service // has it done

	hints winHints
	attrs attributes[*Win]
	errh  atomic.Pointer[WinErrhandler]
	freed atomic.Bool
	tag   atomic.Uint32 // of the last answer asked for

	flushing sync.Mutex // held by a call that waits for what targets have yet to do; see flush

	mu      sync.Mutex
	epochs  rma.Epochs    // guarded by mu
	targets []winTarget   // guarded by mu: by rank
	exposed []*engine.MSO // guarded by mu: what Wait waits for
}

// winRank is what all ranks know of one: immutable.
type winRank struct {
	size int // bytes of its memory
	unit int // bytes that displacements count
}

// WinFlavor says how a window was made (MPI 4.1, section 12.2.6, MPI_WIN_CREATE_FLAVOR).
type WinFlavor uint8

// The flavors.
const (
	FlavorCreate   WinFlavor = iota // WinCreate
	FlavorAllocate                  // WinAllocate
	FlavorDynamic                   // WinCreateDynamic
	FlavorShared                    // WinAllocateShared
)

// String is the name of the flavor.
func (f WinFlavor) String() string {
	names := [...]string{"create", "allocate", "dynamic", "shared"}
	if int(f) < len(names) {
		return names[f]
	}
	return fmt.Sprintf("flavor %d", uint8(f))
}

// WinCreate makes a window of mem, memory of the caller's, which may be nil or of another length at
// each rank (MPI 4.1, section 12.2.1). Displacements count elements of T. Until Free the memory
// belongs to the window as well: the garbage collector leaves it where it is, and others change it
// in their epochs. c must be an intracommunicator (ErrComm). Calls on the window end with c's
// context, if it has one by [Comm.WithContext]. The window has an error handler of its own: see
// [WinErrhandler]. info has the hints of [Win.SetInfo], and may be nil. Collective: it waits for
// all ranks of c.
//
// In a job with ranks of both byte orders it is an error of class [ErrUnsupportedOperation].
func WinCreate[T any](c *Comm, mem []T, info *Info) (w *Win, err error) {
	defer c.begin("WinCreate").endAt(&err)
	return winOver(c, "WinCreate", FlavorCreate, mem, info)
}

// WinAllocate makes a window of n elements of T that it allocates, all zero, and returns them (MPI
// 4.1, section 12.2.2). n may differ between ranks and may be 0; less is an error of class
// [ErrSize]. It is WinCreate otherwise. Collective.
func WinAllocate[T any](c *Comm, n int, info *Info) (w *Win, mem []T, err error) {
	defer c.begin("WinAllocate").endAt(&err)
	if n < 0 {
		return nil, nil, c.fail(opErrorf(ErrSize, "WinAllocate", "the size is %d elements: need 0 or more", n))
	}
	mem = make([]T, n)
	if w, err = winOver(c, "WinAllocate", FlavorAllocate, mem, info); err != nil {
		return nil, nil, err
	}
	return w, mem, nil
}

func winOver[T any](c *Comm, op string, flavor WinFlavor, mem []T, info *Info) (*Win, error) {
	if err := c.canWindow(op); err != nil {
		return nil, c.fail(err)
	}
	e, err := windowElem[T](op)
	if err != nil {
		return nil, c.fail(err)
	}
	b := bytesOf(mem)
	return makeWin(c, op, flavor, b, max(e.size, 1), info)
}

// canWindow says why no window can be made over c.
func (c *Comm) canWindow(op string) *Error {
	if err := c.usable(op); err != nil {
		return err
	}
	if c.IsInter() {
		return opErrorf(ErrComm, op, "%s is an intercommunicator: merge its groups first", c)
	}
	for _, p := range c.peers {
		if c.job.engine.Peer(p).BigEndian != bigEndian {
			return opErrorf(ErrUnsupportedOperation, op, "ranks of %s are of both byte orders, and windows are memory as it is: send messages, which are converted", c)
		}
	}
	return nil
}

// windowElem is the description of T, whose values a window may hold.
func windowElem[T any](op string) (*elem, *Error) {
	e := elemOf[T]()
	switch {
	case e.err != nil:
		return nil, opError(ErrType, op, e.err)
	case !e.plain:
		return nil, opErrorf(ErrType, op, "a %s holds pointers, which mean nothing in the memory of another rank: use numbers, truth values, and structs and arrays of such", e.name)
	}
	return e, nil
}

// winEntry is what each rank tells the others of a window that is being made.
type winEntry struct {
	Context    uint64 // that the rank would give it
	Size, Unit int64
}

// makeWin makes a window of mem, in whose units displacements count. Two rounds: a rank that leaves
// the second knows that all serve.
func makeWin(c *Comm, op string, flavor WinFlavor, mem []byte, unit int, info *Info) (*Win, error) {
	n := c.derive(c.Name()+"+win", c.rank, c.group, 0)
	entries, err := gatherEntries(c, op, winEntry{uint64(c.job.leadContext()), int64(len(mem)), int64(unit)})
	if err != nil {
		return nil, err
	}
	n.setContext(engine.ContextID(entries[0].Context))
	w := &win{comm: n, flavor: flavor, base: mem, size: len(mem), unit: unit, targets: make([]winTarget, len(entries))}
	w.ranks = make([]winRank, len(entries))
	for i, e := range entries {
		w.ranks[i] = winRank{int(e.Size), int(e.Unit)}
	}
	w.hints.set(info)
	w.serve(mem)
	c.job.local.join(w)
	if err := done(ibarrier(n, op)); err != nil {
		w.end()
		return nil, err
	}
	w.meetMates()
	made := &Win{win: w}
	made.SetErrhandler(firstHandler[*Win](c.job))
	n.SetErrhandler(made.deal)
	return made, nil
}

// end ends what the window does.
func (w *win) end() {
	w.freed.Store(true)
	w.guard.close()
	w.comm.job.local.part(w)
	w.comm.job.engine.EndService(&w.service)
	w.comm.freed.Store(true)
}

// Free ends the window, when all its ranks have called it; from then on its memory is the caller's
// alone. An epoch that is open at the calling rank is an error of class [ErrRMASync]. Its
// attributes are deleted first; if that fails, so does Free, and the window stays. If a rank has
// failed the window ends all the same, and the error says so. Collective (MPI 4.1, section 12.2.5).
func (w *Win) Free() (err error) {
	defer w.begin("Free").endAt(&err)
	const op = "Free"
	if err := w.present(op); err != nil {
		return w.fail(err)
	}
	if !w.comm.isRevoked() {
		if err := w.may(op, (*rma.Epochs).CanFree); err != nil {
			return w.fail(err)
		}
	}
	if err := w.deleteAttributes(); err != nil {
		return w.fail(err)
	}
	freed, err := w.meetLast(op)
	w.end()
	if err := w.unshare(freed); err != nil && err == nil {
		return w.fail(opError(ErrOther, op, err))
	}
	return err
}

// meetLast waits until all ranks free w, and reports whether they all do.
func (w *Win) meetLast(op string) (freed bool, err error) {
	if w.comm.isRevoked() {
		return false, nil
	}
	w.comm.SetErrhandler(func(_ *Comm, err *Error) error { return err }) // what the user's says is no word of the others
	defer w.comm.SetErrhandler(w.deal)
	err = done(ibarrier(w.comm, op))
	if e, ok := errors.AsType[*Error](err); ok {
		return false, w.Errhandler()(w, e)
	}
	return err == nil, err
}

// Size is the bytes of the calling rank's memory in w; 0 of a dynamic window, which has no more
// than what is attached (MPI 4.1, section 12.2.6, MPI_WIN_SIZE).
func (w *Win) Size() int { return w.size }

// DispUnit is the bytes that displacements at the calling rank count: those of an element that the
// window was made with (MPI 4.1, section 12.2.6, MPI_WIN_DISP_UNIT).
func (w *Win) DispUnit() int { return w.unit }

// Flavor says how w was made (MPI 4.1, section 12.2.6, MPI_WIN_CREATE_FLAVOR).
func (w *Win) Flavor() WinFlavor { return w.flavor }

// Model is the memory model of w, which is ModelUnified always (MPI 4.1, section 12.2.6,
// MPI_WIN_MODEL).
func (w *Win) Model() WinModel { return ModelUnified }

// WinModel is a memory model (MPI 4.1, section 12.4).
type WinModel uint8

// The memory models.
const (
	ModelUnified  WinModel = iota // what others change is in the memory that the program reads
	ModelSeparate                 // it has to be fetched from a copy of the library's; no window here is such
)

// String is the name of the model.
func (m WinModel) String() string {
	if m == ModelUnified {
		return "unified"
	}
	return "separate"
}

// Group is the group of the ranks of w (MPI 4.1, section 12.2.7, MPI_Win_get_group).
func (w *Win) Group() *Group { return w.comm.Group() }

// Name is the name of w, for messages to people (MPI 4.1, section 7.8). Until SetName gives another
// it says where w comes from.
func (w *Win) Name() string { return w.comm.Name() }

// SetName names w at the calling rank, for messages to people (MPI 4.1, section 7.8). It is local.
func (w *Win) SetName(name string) (err error) {
	defer w.begin("SetName").endAt(&err)
	if err := w.present("SetName"); err != nil {
		return w.fail(err)
	}
	w.comm.rename(name)
	return nil
}

// String describes w for logs.
func (w *Win) String() string {
	return fmt.Sprintf("%s (rank %d of %d, %s)", w.Name(), w.comm.rank, w.comm.Size(), w.flavor)
}

// WithTypes returns w with layouts for what operations made through the returned value read and
// write at the origin, and at the target (MPI 4.1, section 12.3, origin_datatype and
// target_datatype). An operation is then one value of each, which must hold the same data. The
// target's layout has its origin at the displacement that the operation is given. A nil type stands
// for the buffer as it is: at the target, for as many bytes in a row.
func (w *Win) WithTypes(origin, target *Datatype) *Win {
	n := *w
	n.originType, n.targetType = origin, target
	return &n
}

// WithType is WithTypes of the same layout at both ends.
func (w *Win) WithType(t *Datatype) *Win { return w.WithTypes(t, t) }

// Revoke is Comm.Revoke of the window: operations that wait, at all ranks, end with an error of
// class [ErrRevoked], and so do all that follow, except Free, which is local then (fault tolerance
// as proposed to the MPI Forum, MPIX_Win_revoke).
func (w *Win) Revoke() (err error) {
	defer w.begin("Revoke").endAt(&err)
	if err := w.present("Revoke"); err != nil {
		return w.fail(err)
	}
	w.comm.job.revoke(w.comm.family(), engine.PeerID(w.comm.job.engine.Rank()), w.comm.group)
	return nil
}

// IsRevoked reports whether a rank has revoked w and the calling rank knows. It is local.
func (w *Win) IsRevoked() bool { return w.comm.IsRevoked() }

// begin begins the call of an operation on w.
func (w *Win) begin(op string) *Call {
	if !isObserved() || w == nil || w.win == nil {
		return nil
	}
	return w.comm.call(op)
}

// beginAccess begins the call of an operation on w that concerns a target.
func (w *Win) beginAccess(op string, target int) *Call {
	if !isObserved() || w == nil || w.win == nil {
		return nil
	}
	k := w.comm.newCall(op)
	if k != nil {
		k.Dest = target
	}
	return k.begin()
}

// present says why w can do nothing at all.
func (w *Win) present(op string) *Error {
	switch {
	case w == nil || w.win == nil:
		return opErrorf(ErrWin, op, "the window is nil: take the one that WinCreate or WinAllocate gives")
	case w.freed.Load():
		return opErrorf(ErrWin, op, "the window was freed")
	}
	return w.comm.present(op)
}

// usable says why w can start no operation.
func (w *Win) usable(op string) *Error {
	if err := w.present(op); err != nil {
		return err
	}
	return w.comm.usable(op)
}

// fail completes err with the place and gives it to the error handler.
func (w *Win) fail(err *Error) error {
	if w == nil || w.win == nil {
		return err
	}
	return w.comm.fail(err)
}

// outcome is fail of what may be nil.
func (w *Win) outcome(err *Error) error {
	if err == nil {
		return nil
	}
	return w.fail(err)
}

// ranksOf are the ranks in w of the members of g.
func (w *Win) ranksOf(op string, g *Group) ([]int, *Error) {
	if g == nil {
		return nil, opErrorf(ErrGroup, op, "the group is nil: GroupEmpty has no members")
	}
	rs := make([]int, 0, len(g.members))
	for i, p := range g.members {
		r := w.comm.rankOf(p)
		if r < 0 {
			return nil, opErrorf(ErrGroup, op, "rank %d of the group, world rank %d, is no rank of the window", i, p)
		}
		rs = append(rs, r)
	}
	slices.Sort(rs)
	return rs, nil
}
