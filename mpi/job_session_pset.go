package mpi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/engine"
)

// The names of process sets. Those that begin with mpi:// are the standard's (MPI 4.1, section
// 11.3.2).
const (
	// PsetWorld is the set of all ranks of the job.
	PsetWorld = "mpi://WORLD"
	// PsetSelf is the set of the calling rank alone.
	PsetSelf = "mpi://SELF"
	// PsetHost is the set of the ranks on the calling rank's host.
	PsetHost = "fitmpi://host"
	// psetApp and a number is the set of the ranks that run one of the job's programs.
	psetApp = "fitmpi://app/"
)

// psets are the names of the process sets that the rank belongs to.
func (j *job) psets() []string {
	names := []string{PsetWorld, PsetSelf, PsetHost}
	if j.apps != nil {
		names = append(names, psetApp+strconv.Itoa(j.apps[j.engine.Rank()]))
	}
	return names
}

// psetMembers are the ranks of the process set, in the order of their numbers in the world; nil if
// the calling rank belongs to no such set.
func (j *job) psetMembers(name string) []engine.PeerID {
	if !slices.Contains(j.psets(), name) {
		return nil
	}
	me := j.engine.Rank()
	alike := func(facts []int) func(int) bool {
		return func(r int) bool { return facts == nil || facts[r] == facts[me] }
	}
	in := func(int) bool { return true }
	switch {
	case name == PsetSelf:
		in = func(r int) bool { return r == me }
	case name == PsetHost:
		in = alike(j.nodes)
	case strings.HasPrefix(name, psetApp):
		in = alike(j.apps)
	}
	var members []engine.PeerID
	for r := range j.engine.Size() {
		if in(r) {
			members = append(members, engine.PeerID(r))
		}
	}
	return members
}

// appsOf is which program each rank runs; nil if all run the same.
func appsOf(cards []card) []int {
	apps := make([]int, len(cards))
	several := false
	for r := range cards {
		apps[r] = cards[r].App
		several = several || apps[r] != apps[0]
	}
	if !several {
		return nil
	}
	return apps
}

// NumPsets is how many process sets the calling rank belongs to: PsetWorld, PsetSelf, PsetHost,
// and, in a job of several programs (fitrun -n 2 a : -n 2 b), fitmpi://app/0 for the ranks of the
// first, and so on. It is the same as long as the job lasts. It is local (MPI 4.1, section 11.3.3,
// MPI_Session_get_num_psets).
func (s *Session) NumPsets() (n int, err error) {
	defer s.begin("NumPsets").endAt(&err)
	if err := s.present("Session.NumPsets"); err != nil {
		return 0, s.fail(err)
	}
	return len(s.job.psets()), nil
}

// NthPset is the name of the n-th process set that the calling rank belongs to, from 0. Another n
// is an error of class ErrArg. It is local (MPI 4.1, section 11.3.3, MPI_Session_get_nth_pset).
func (s *Session) NthPset(n int) (name string, err error) {
	defer s.begin("NthPset").endAt(&err)
	const op = "Session.NthPset"
	if err := s.present(op); err != nil {
		return "", s.fail(err)
	}
	names := s.job.psets()
	if n < 0 || n >= len(names) {
		return "", s.fail(opErrorf(ErrArg, op, "process set %d of %d: they are numbered from 0", n, len(names)))
	}
	return names[n], nil
}

// PsetInfo says of a process set, one that the calling rank belongs to, how many ranks it has,
// under the key mpi_size. The result is the caller's own. Another name is an error of class ErrArg.
// It is local (MPI 4.1, section 11.3.3, MPI_Session_get_pset_info).
func (s *Session) PsetInfo(name string) (info *Info, err error) {
	defer s.begin("PsetInfo").endAt(&err)
	members, opErr := s.membersOf("Session.PsetInfo", name)
	if opErr != nil {
		return nil, s.fail(opErr)
	}
	info = InfoCreate()
	info.setKnown("mpi_size", strconv.Itoa(len(members)))
	return info, nil
}

// GroupFromPset returns the group of the ranks of a process set, one that the calling rank belongs
// to, in the order of their numbers in the job, for CommCreateFromGroup. Another name is an error
// of class ErrArg. It is local (MPI 4.1, section 7.3.2, MPI_Group_from_session_pset).
func (s *Session) GroupFromPset(name string) (g *Group, err error) {
	defer s.begin("GroupFromPset").endAt(&err)
	members, opErr := s.membersOf("Session.GroupFromPset", name)
	if opErr != nil {
		return nil, s.fail(opErr)
	}
	return newGroup(s.job, &s.scope, members), nil
}

func (s *Session) membersOf(op, pset string) ([]engine.PeerID, *Error) {
	if err := s.present(op); err != nil {
		return nil, err
	}
	members := s.job.psetMembers(pset)
	if members == nil {
		return nil, opErrorf(ErrArg, op, "the calling rank belongs to no process set %q: those that it belongs to are %s", pset, strings.Join(s.job.psets(), ", "))
	}
	return members, nil
}
