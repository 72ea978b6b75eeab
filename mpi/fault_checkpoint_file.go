package mpi

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/fitmpi/fitmpi/mpi/internal/ckpt"
)

// FileCheckpoint is a [Checkpoint] in plain files, one of each rank, in a directory of a file
// system that all hosts of the job share. The directory may be on the disk of each host instead, if
// a job that is started again has its ranks where they were. The zero value is ready for use.
//
// A checkpoint counts when every rank has its file on the disk, and rank 0 has written there that
// it is complete. Files are written under another name, synchronised and renamed. So whatever dies
// at whatever moment, machines included, the newest complete checkpoint is whole. What is torn is
// ignored, and removed by the next Load. Each file is checksummed. Any change of what was written,
// and a file of another rank, save or job, is an error of class [ErrIO] of Load. If Keep is more
// than 1, Load takes the checkpoint before instead. Files can be read by their user only.
//
// Save writes each rank's data once, and waits for the disk; Load reads them twice, first to see
// that they are whole at every rank. One directory serves one job at a time, and one communicator
// of it.
type FileCheckpoint struct {
	// Dir is the directory, which Save makes if it is not there. "" is FITMPI_CHECKPOINT, which
	// fitrun --restart-dir sets, or .fitmpi-checkpoint in the working directory. All ranks need the
	// same.
	Dir string
	// Keep is how many complete checkpoints are kept; 0 is 1. The old one goes when the new one is
	// complete.
	Keep int
}

var _ Checkpoint = (*FileCheckpoint)(nil)

// saveOrder is what rank 0 says at the start of a Save or a Load.
type saveOrder struct {
	Fault    fault
	Save     ckpt.Save
	Complete []int64 // versions, the newest first
	Parts    []ckpt.Part
	IsLast   bool // no other candidate follows
}

// Save implements [Checkpoint]. It needs a version that is greater than that of every checkpoint in
// the directory, and not negative.
func (f *FileCheckpoint) Save(c *Comm, version int64, write func(w io.Writer) error) (err error) {
	const op = "Save"
	defer c.begin(op).endAt(&err)
	if err := checkIntra(c, op); err != nil {
		return err
	}
	d := ckpt.NewDir(checkpointDir(c, f.Dir))
	order, err := orderFrom0(c, op, func() (saveOrder, error) { return f.planSave(d, version, c.Size()) })
	if err != nil || order.Fault.Text != "" {
		return errors.Join(err, order.Fault.error(c, op, nil))
	}
	if order.Save.Version != version {
		own := opErrorf(ErrNotSame, op, "version %d here, %d at rank 0", version, order.Save.Version)
		return f.saved(c, d, order, ckpt.Part{}, own)
	}
	part, own := d.WritePart(order.Save, c.rank, write)
	return f.saved(c, d, order, part, own)
}

// planSave is what rank 0 does first.
func (f *FileCheckpoint) planSave(d *ckpt.Dir, version int64, ranks int) (saveOrder, error) {
	marks, _, err := d.Marks()
	if err != nil {
		return saveOrder{}, err
	}
	newest, err := d.Newest()
	if err != nil {
		return saveOrder{}, err
	}
	if version <= newest || version < 0 {
		return saveOrder{}, opErrorf(ErrArg, "Save", "version %d: the newest checkpoint in %v is version %d, and a new one must be greater, and not negative; Clear removes what is there", version, d, newest)
	}
	order := saveOrder{Save: ckpt.Save{Version: version, Number: rand.Uint64(), Ranks: ranks}}
	for _, m := range marks {
		order.Complete = append(order.Complete, m.Version)
	}
	return order, nil
}

// partReport is what a rank says when its part is written.
type partReport struct {
	Part  ckpt.Part
	Fault fault
}

// saved makes the checkpoint count when all ranks have written their parts, or removes what they
// have written.
func (f *FileCheckpoint) saved(c *Comm, d *ckpt.Dir, order saveOrder, part ckpt.Part, own error) error {
	const op = "Save"
	all := make([]partReport, c.Size())
	if err := done(igather(c, op, []partReport{{part, faultOf(c.rank, own)}}, all, 0)); err != nil {
		return err // no rank knows whether it counts: what is there stays
	}
	outcome := make([]fault, 1)
	if c.rank == 0 {
		outcome[0] = commit(d, order.Save, arrangement(c), all)
	}
	if err := done(ibcast(c, op, outcome, 0)); err != nil {
		return err
	}
	if outcome[0].Text != "" {
		d.DropPart(order.Save.Version, c.rank) // what cannot be removed is torn, as the next Load sees
		return outcome[0].error(c, op, own)
	}
	keep := order.Complete[:min(len(order.Complete), max(f.Keep, 1)-1)]
	d.Clean(c.rank, c.Size(), func(v int64) bool { // what it cannot remove the next save removes
		return v == order.Save.Version || slices.Contains(keep, v)
	})
	return nil
}

// commit is the second phase at rank 0: it writes the mark, if all parts are there.
func commit(d *ckpt.Dir, s ckpt.Save, geometry string, all []partReport) fault {
	m := ckpt.Mark{Save: s, Geometry: geometry}
	for _, r := range all {
		if r.Fault.Text != "" {
			return r.Fault
		}
		m.Parts = append(m.Parts, r.Part)
	}
	return faultOf(0, d.WriteMark(m))
}

// Load implements [Checkpoint]. It removes what is torn.
func (f *FileCheckpoint) Load(c *Comm, read func(version int64, r io.Reader) error) (version int64, ok bool, err error) {
	const op = "Load"
	defer c.begin(op).endAt(&err)
	if err := checkIntra(c, op); err != nil {
		return 0, false, err
	}
	d := ckpt.NewDir(checkpointDir(c, f.Dir))
	candidates, complete, first := f.candidates(c, d)
	var bad error // why newer ones cannot be read
	for i := 0; ; i++ {
		order, err := orderFrom0(c, op, func() (saveOrder, error) { return candidate(candidates, complete, i), first })
		if err != nil || order.Fault.Text != "" {
			return 0, false, errors.Join(err, order.Fault.error(c, op, first))
		}
		if i == 0 {
			d.Clean(c.rank, c.Size(), func(v int64) bool { return slices.Contains(order.Complete, v) }) // what stays is ignored as well
		}
		if order.IsLast {
			return 0, false, bad
		}
		own := d.CheckPart(order.Save, c.rank, order.Parts[c.rank])
		torn, err := settle(c, op, own)
		if err != nil {
			return 0, false, err
		}
		if torn.Text != "" {
			bad = errors.Join(bad, torn.error(c, op, own))
			continue
		}
		if bad != nil && c.rank == 0 {
			c.job.logger.Warn("an older checkpoint is loaded", "version", order.Save.Version, "err", bad)
		}
		own = d.ReadPart(order.Save, c.rank, order.Parts[c.rank], func(r io.Reader) error { return read(order.Save.Version, r) })
		torn, err = settle(c, op, own)
		if err == nil {
			err = torn.error(c, op, own)
		}
		return order.Save.Version, err == nil, err
	}
}

// candidates are the checkpoints that rank 0 finds, the newest first, the versions of all that are
// complete, readable or not, and why there can be no candidate.
func (f *FileCheckpoint) candidates(c *Comm, d *ckpt.Dir) (marks []ckpt.Mark, complete []int64, err error) {
	if c.rank != 0 {
		return nil, nil, nil
	}
	marks, bad, err := d.Marks()
	var why []error
	for v, e := range bad {
		complete, why = append(complete, v), append(why, e)
	}
	for _, m := range marks {
		complete = append(complete, m.Version)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case len(marks) == 0 && len(bad) > 0:
		return nil, nil, errors.Join(why...) // to begin anew would be to lose what there is
	case len(marks) == 0:
		return nil, nil, nil
	}
	want := arrangement(c)
	if got := marks[0].Geometry; got != want {
		return nil, nil, opErrorf(ErrTopology, "Load", "the checkpoint in %v is of %s, and %s has %s; run the program as it was, or remove the directory", d, got, c.Name(), want)
	}
	if len(bad) > 0 {
		c.job.logger.Warn("a checkpoint cannot be read", "err", errors.Join(why...))
	}
	return slices.DeleteFunc(marks, func(m ckpt.Mark) bool { return m.Geometry != want }), complete, nil
}

// candidate is the i-th that is to be tried.
func candidate(marks []ckpt.Mark, complete []int64, i int) saveOrder {
	order := saveOrder{IsLast: i >= len(marks), Complete: complete}
	if !order.IsLast {
		order.Save, order.Parts = marks[i].Save, marks[i].Parts
	}
	return order
}

// Clear implements [Checkpoint]. It also removes the directory, if nothing else is in it.
func (f *FileCheckpoint) Clear(c *Comm) (err error) {
	const op = "Clear"
	defer c.begin(op).endAt(&err)
	if err := checkIntra(c, op); err != nil {
		return err
	}
	d := ckpt.NewDir(checkpointDir(c, f.Dir))
	none := func(int64) bool { return false }
	var own error
	if c.rank == 0 { // marks go first: what is half removed does not count
		own = d.Clean(0, c.Size(), none)
	}
	first, err := settle(c, op, own)
	if err != nil || first.Text != "" {
		return errors.Join(err, first.error(c, op, own))
	}
	own = d.Clean(c.rank, c.Size(), none)
	first, err = settle(c, op, own)
	if err != nil || first.Text != "" {
		return errors.Join(err, first.error(c, op, own))
	}
	d.Remove()
	return nil
}

// orderFrom0 gives every rank what rank 0 says.
func orderFrom0(c *Comm, op string, make func() (saveOrder, error)) (saveOrder, error) {
	var order [1]saveOrder
	if c.rank == 0 {
		o, err := make()
		o.Fault = faultOf(0, err)
		order[0] = o
	}
	err := done(ibcast(c, op, order[:], 0))
	return order[0], err
}

// checkIntra refuses communicators that checkpoints have no use for.
func checkIntra(c *Comm, op string) error {
	if c.IsInter() {
		return opError(ErrComm, op, fmt.Errorf("%s is an intercommunicator; give one of its groups, or a merged one", c.Name()))
	}
	return nil
}
