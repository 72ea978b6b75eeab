package core

import "fmt"

// Job is work that is too long for the mutex: a large copy, an allocation, a step of a schedule.
// Run does it without the mutex; Finish, with the mutex, takes note. The poster runs a job that
// Post returns; the holder of the progress right runs the others.
type Job struct {
	kind    jobKind
	m       *MSO // the receive
	from    *MSO // the arrival or the local send that it takes
	most    int  // longest message to allocate for
	step    stepRef
	service *Service
	do      func() error
	local   Local   // of what is fetched
	fetches []Fetch // in the core's memory
	at      int     // offset of the chunk, in bytes
	n       int     // bytes of it
	err     error
	block   []byte // where the chunk is packed
}

type jobKind uint8

const (
	jobNone  jobKind = iota
	jobCopy          // copy an arrival's slab into the receive
	jobSelf          // copy a local send into the receive
	jobAlloc         // allocate for a receive of unknown length, then approve its RTS
	jobStep          // run a local step of a schedule
	jobPack          // pack a chunk of a layout that is being sent
	jobServe         // have an event of a service handled
	jobVoid          // called off
	jobFetch         // fetch a chunk of a payload from a peer of this host, or several payloads; only for the holder of the progress right
)

// NextJob takes the next job off the list.
func (c *Core) NextJob() (Job, bool) {
	if c.jobs.Len() == 0 {
		return c.nextFetch()
	}
	j := *c.jobs.At(0)
	c.jobs.PopFront()
	return j, true
}

// smallJob bounds, in bytes, what a small job copies or combines.
const smallJob = 8 << 10

// NextSmallJob is NextJob of a job that takes no longer than it takes to wake another goroutine for
// it. It leaves the first that is not small, and all behind it.
func (c *Core) NextSmallJob() (Job, bool) {
	if c.jobs.Len() == 0 || !c.jobs.At(0).isSmall() {
		return Job{}, false
	}
	return c.NextJob()
}

func (j *Job) isSmall() bool {
	switch j.kind {
	case jobCopy, jobSelf:
		return j.m.Length <= smallJob && j.m.Alloc == nil
	case jobStep:
		return j.step.sched.largest <= smallJob
	case jobServe:
		return len(j.service.Buf) <= smallJob
	default:
		return false
	}
}

// Fetched is how many bytes the job has fetched from a peer of this host.
func (j *Job) Fetched() int {
	n := 0
	for i := range j.fetches {
		n += j.fetches[i].N
	}
	return n
}

// IsForeign reports whether the job may end the goroutine that runs it (runtime.Goexit, and so
// FailNow of a test), as it calls functions that are not the library's: Protect cannot keep it from
// that.
func (j *Job) IsForeign() bool { return j.kind == jobStep && j.step.sched.Foreign }

// Fail takes note that the job has failed, for one that has not returned.
func (j *Job) Fail(err error) { j.err = err }

// HasJobs reports whether NextJob would return one.
func (c *Core) HasJobs() bool { return c.jobs.Len() > 0 || c.fetches.head != nil }

// Run does the work; the mutex must not be held.
func (j *Job) Run() {
	switch j.kind {
	case jobCopy, jobSelf:
		if j.m.Alloc != nil {
			j.err = j.m.allocate(j.m.Length, j.most)
		}
		copySelf(j.m, j.from)
	case jobAlloc:
		j.err = j.m.allocate(j.m.Length, j.most)
	case jobStep:
		j.err = Protect(j.do)
	case jobPack:
		j.m.Layout.Pack(j.block[:j.n], j.at)
	case jobServe:
		j.service.Handle(j.service, &j.service.now)
	case jobVoid:
	case jobFetch:
		j.local.Fetch(j.fetches)
	default:
		panic("core: Run of no job: a bug of ours")
	}
}

// allocate gives a receive of unknown length its memory. A length beyond most,
// or one that Alloc cannot serve, is an error and leaves Buf empty. The limit is
// there because Go ends the program, beyond any recover, when it has no memory.
func (m *MSO) allocate(n, most int) error {
	m.Buf = nil
	if n > most {
		return &LengthError{Message: n, Max: most}
	}
	err := Protect(func() error {
		m.Buf = m.Alloc(n)
		return nil
	})
	if room := m.Size(); err == nil && room < n {
		err = &TruncateError{Message: n, Buffer: room}
	}
	return err
}

// Protect runs f, and turns a panic of the user's code into an error: it must not take the
// worker with it, nor end a program that would have had an error if another thread had run it.
func Protect(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return f()
}

// Finish takes note of a job that was run.
func (c *Core) Finish(j *Job) {
	if j.m != nil && j.m.Err == nil {
		j.m.Err = j.err
	}
	switch j.kind {
	case jobCopy:
		c.consumed(j.from)
		c.recvDone(j.m)
	case jobSelf:
		c.sendDone(j.from, nil)
		c.recvDone(j.m)
	case jobAlloc:
		c.allocated(j.m)
	case jobStep:
		c.stats.StepsRun++
		c.localDone(j.step, j.err)
	case jobPack:
		c.packDone(j)
	case jobServe:
		c.handled(j.service)
	case jobVoid:
	case jobFetch:
		c.fetchedAll(j)
	default:
		panic("core: Finish of no job: a bug of ours")
	}
}
