//go:build linux

package crew

import (
	"fmt"
	"os"

	"github.com/fitmpi/fitmpi/internal/shm"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// shared is what the ranks of this host have in common: memory, and one bell per rank. It has no
// name anywhere: the kernel frees it when the last process that holds it is dead, so not even kill
// -9 of fitrun and all ranks leaves anything behind. It is owned by the crew; ranks are sent copies
// of the descriptors over their links.
type shared struct {
	segment *os.File   // nil if the ranks share no memory
	bells   []*os.File // by local rank; empty if segment is nil
}

// share makes what the ranks of plan have in common, which is nothing where they are of one process
// or want TCP.
func share(plan Plan) (s shared, err error) {
	ranks := 0
	for _, p := range plan.Processes {
		ranks += len(p.Ranks)
	}
	if len(plan.Processes) < 2 || plan.Transport == "tcp" {
		return shared{}, nil
	}
	defer func() {
		if err != nil {
			s.close()
			s, err = shared{}, fmt.Errorf("making shared memory for %d ranks: %w", ranks, explainStart(err))
		}
	}()
	if s.segment, err = shm.Create(ranks); err != nil {
		return s, err
	}
	for range ranks {
		bell, err := sys.NewEventFD()
		if err != nil {
			return s, err
		}
		s.bells = append(s.bells, bell)
	}
	return s, nil
}

// bell is that of a local rank, nil if there is none.
func (s *shared) bell(localRank int) *os.File {
	if localRank >= len(s.bells) {
		return nil
	}
	return s.bells[localRank]
}

func (s *shared) close() {
	if s.segment != nil {
		s.segment.Close()
	}
	for _, b := range s.bells {
		b.Close()
	}
}
