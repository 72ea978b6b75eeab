package mpi

import (
	"fmt"
	"strconv"

	"github.com/fitmpi/fitmpi/mpi/internal/fileio"
)

// fileHints are what an Info can say of a file. Those of rank 0 hold.
type fileHints struct {
	Read, Write int64 // whether collective accesses are made in two phases
	Nodes       int64 // ranks that do so for the others
	Window      int64 // bytes that each moves at once
	Room        int64 // bytes through which data are copied that are not in one piece
	Sift        int64 // whether gaps are read
	Perm        int64 // of a file that is made
}

// A choice of a hint.
const (
	chooseAuto int64 = iota
	chooseYes
	chooseNo
)

var choiceNames = []string{"automatic", "enable", "disable"}

// hint is how one is read and shown.
type hint struct {
	key   string
	field func(h *fileHints) *int64
	base  int // of a number; 0 of a choice
	lo    int64
}

var hintTable = []hint{
	{"cb_nodes", func(h *fileHints) *int64 { return &h.Nodes }, 10, 1},
	{"cb_buffer_size", func(h *fileHints) *int64 { return &h.Window }, 10, 1},
	{"ind_rd_buffer_size", func(h *fileHints) *int64 { return &h.Room }, 10, 1},
	{"file_perm", func(h *fileHints) *int64 { return &h.Perm }, 8, 0},
	{"romio_cb_read", func(h *fileHints) *int64 { return &h.Read }, 0, 0},
	{"romio_cb_write", func(h *fileHints) *int64 { return &h.Write }, 0, 0},
	{"romio_ds_read", func(h *fileHints) *int64 { return &h.Sift }, 0, 0},
}

// defaultHints are those of a file of c: an aggregator for each host, as the ranks of one share its
// way to the disk, but some if there is one host only, where their copying is what takes time.
func defaultHints(c *Comm) fileHints {
	hosts := map[int]bool{}
	for _, h := range c.job.hostsOf(c.group) {
		hosts[h] = true
	}
	nodes := len(hosts)
	if nodes <= 1 {
		nodes = min(4, c.Size())
	}
	return fileHints{Nodes: int64(nodes), Window: 4 << 20, Room: 1 << 20, Perm: 0o666}
}

// hintsOf is h with what info says.
func hintsOf(h fileHints, info *Info) (fileHints, *Error) {
	if v, _ := info.Get("collective_buffering"); v == "true" {
		h.Read, h.Write = chooseYes, chooseYes
	} else if v == "false" {
		h.Read, h.Write = chooseNo, chooseNo
	}
	for _, k := range hintTable {
		text, ok := info.Get(k.key)
		if !ok {
			continue
		}
		if err := k.set(&h, text); err != nil {
			return h, opErrorf(ErrInfoValue, "", "%s is %q: %w", k.key, text, err)
		}
	}
	return h, nil
}

func (k *hint) set(h *fileHints, text string) error {
	if k.base == 0 {
		for i, name := range choiceNames {
			if text == name {
				*k.field(h) = int64(i)
				return nil
			}
		}
		return fmt.Errorf("need one of %v", choiceNames)
	}
	n, err := strconv.ParseInt(text, k.base, 64)
	if err != nil || n < k.lo || n > 1<<40 {
		return fmt.Errorf("need a number from %d to %d, in base %d", k.lo, int64(1)<<40, k.base)
	}
	*k.field(h) = n
	return nil
}

// SetInfo gives f the hints of info, as FileOpen does; hints that it does not have stay as they
// are. What rank 0 gives holds at all ranks. An error is of class [ErrInfo] if info is nil, and
// [ErrInfoValue] if a key has a value that it cannot have. Collective, blocks (MPI 4.1, section
// 14.2.8, MPI_File_set_info).
func (f *File) SetInfo(info *Info) (err error) {
	defer f.begin("SetInfo").endAt(&err)
	const op = "SetInfo"
	if err := f.present(op); err != nil {
		return f.fail(err)
	}
	var opErr *Error
	f.inTurn(op, func() {
		h, own := hintsOf(*f.hints.Load(), info)
		if info == nil {
			own = opErrorf(ErrInfo, op, "the info is nil: make one with InfoCreate")
		}
		opErr = f.setHints(op, h, own)
	})
	return f.outcome(opErr)
}

// setHints makes the hints of rank 0 those of all, unless a rank has an error. Collective.
func (f *file) setHints(op string, h fileHints, own *Error) *Error {
	if own != nil {
		own.Op = op
	}
	if err := f.agree(op, own); err != nil {
		return err
	}
	all := []fileHints{h}
	if err := done(ibcast(f.quiet, op, all, 0)); err != nil {
		return f.rankError(op, err)
	}
	f.hints.Store(&all[0])
	return nil
}

// Info returns the hints that hold for f (MPI 4.1, section 14.2.8, MPI_File_get_info). The result
// is the caller's own. Its keys, which FileOpen, SetInfo and SetView take:
//
//   - cb_nodes, cb_buffer_size: how many ranks move the data of a collective access in two phases,
//     and how many bytes each moves at once. It is the memory that they need for that, once or
//     twice.
//   - romio_cb_read, romio_cb_write: automatic (the default: where the data of ranks interleave in
//     short pieces, reading only if they are on several hosts), enable or disable. The standard's
//     collective_buffering sets both, to enable if it is true.
//   - ind_rd_buffer_size: bytes through which data go that are not in one piece.
//   - romio_ds_read: whether reading takes in what lies between short pieces: automatic, enable
//     (the same) or disable.
//   - file_perm: the permissions of a file that FileOpen makes, in octal, less the umask.
//
// filename, which is not taken, is the name of the file.
func (f *File) Info() *Info {
	info := InfoCreate()
	info.setKnown("filename", f.name)
	h := *f.hints.Load()
	for _, k := range hintTable {
		if v := *k.field(&h); k.base == 0 {
			info.setKnown(k.key, choiceNames[v])
		} else {
			info.setKnown(k.key, strconv.FormatInt(v, k.base))
		}
	}
	return info
}

// isSpread reports whether the ranks of f are on several hosts.
func (f *file) isSpread() bool {
	hosts := f.comm.job.hostsOf(f.comm.group)
	for _, h := range hosts {
		if h != hosts[0] {
			return true
		}
	}
	return false
}

// aggregators are the ranks that move the data of collective accesses.
func (f *file) aggregators() []int {
	c := f.comm
	return fileio.Aggregators(c.Size(), c.job.hostsOf(c.group), min(int(f.hints.Load().Nodes), c.Size()))
}
