package mpi

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/fnv"

	"github.com/fitmpi/fitmpi/engine"
)

// meetLast waits until all ranks have called Finalize; in a job that goes on without its dead,
// until all that live have. A rank that finds, while it waits, that another has failed begins again
// without it. That comes to an end: the ranks that meet are fewer each time by one at least, and in
// the end all that are left know of the same failures. The messages of different lists of ranks do
// not meet, as the number of the barrier stands for the list.
//
// In any other job there is no list but that of all ranks. A rank that has lost another fails at
// once, although the other may live and be lost to no other rank. The others do not know of the
// loss, and would wait for this rank with a list that is not its own.
func (j *job) meetLast(ctx context.Context) error {
	if err := j.lostOne("Finalize"); err != nil {
		return err
	}
	for {
		living := j.living()
		if j.engine.PeerGone(j.me()) != nil { // the job is ending
			return j.world.engineError("Finalize", engine.ErrStopped, -1, 0, 0).on(j.engine.Rank(), "world")
		}
		last := newComm(j, new(scope), "world", j.rankAmong(living), living, contextID(0, contextFinalize))
		last.ctx = ctx
		last.SetErrhandler(ErrorsReturn)
		if len(living) < j.engine.Size() {
			last.collSeq.Store(numberOf(living))
			j.ask(living)
		}
		_, err := startBarrier(last, "Finalize").wait()
		if err == nil || !j.faults.hasFT || ClassOf(err) != ErrProcFailed {
			return err
		}
	}
}

// lostOne is an error if the rank has lost another in a job that does not go on without its dead;
// nil if not.
func (j *job) lostOne(op string) *Error {
	if j.faults.hasFT {
		return nil
	}
	for _, p := range j.engine.Failed(nil) {
		if j.isForeign(p) {
			continue // what was to be done with it has failed, and nothing else
		}
		gone := j.engine.PeerGone(p)
		if errors.Is(gone, engine.ErrStopped) {
			continue // all are, as the job is ending
		}
		err := j.world.engineError(op, gone, int(p), 0, 0).on(j.engine.Rank(), "world")
		err.Host = j.host
		return err
	}
	return nil
}

// living are the ranks that have neither failed nor left.
func (j *job) living() (ids []engine.PeerID) {
	for r := range j.engine.Size() {
		if j.engine.PeerGone(engine.PeerID(r)) == nil {
			ids = append(ids, engine.PeerID(r))
		}
	}
	return ids
}

func (j *job) rankAmong(ids []engine.PeerID) int {
	list := rankingOf(ids)
	return list.of(j.me())
}

// numberOf stands for a list of ranks.
func numberOf(ids []engine.PeerID) uint32 {
	h := fnv.New32a()
	for _, p := range ids {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(p)))
	}
	return h.Sum32() % streamTag
}

// ask says something to each rank. The answer, or that none comes, shows whether a rank was through
// with an earlier barrier, and has left. Otherwise a rank that has nothing to send to it would wait
// for it.
func (j *job) ask(ids []engine.PeerID) {
	for _, p := range ids {
		_ = j.engine.Signal(p, 0, []byte{saysNothing}) // that it is gone is what is to be found out
	}
}
