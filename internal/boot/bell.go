package boot

import (
	"errors"
	"fmt"
	"os"
)

// errNoBell is a Bell in a job that has none.
var errNoBell = errors.New("boot: asking for a bell: the ranks of this job have none, as they share no memory")

func (s *session) Bell(localRank int, then func(*os.File)) error {
	switch {
	case s.info.Bell == nil:
		return errNoBell
	case localRank < 0 || localRank >= s.info.LocalSize:
		return fmt.Errorf("boot: asking for the bell of local rank %d: there are %d on this host", localRank, s.info.LocalSize)
	}
	s.bellMu.Lock()
	if f := s.stored[localRank]; f != nil {
		delete(s.stored, localRank)
		s.bellMu.Unlock()
		then(f)
		return nil
	}
	s.bells[localRank] = append(s.bells[localRank], then)
	s.bellMu.Unlock()
	// After an error then stays where it is, and is never called: nothing more gets through to the
	// launcher.
	if err := s.send(message{Type: typeBell, Rank: localRank}); err != nil {
		return fmt.Errorf("boot: asking %s for the bell of local rank %d: %w", s.other, localRank, err)
	}
	return nil
}

// fetchBells gets the bells of all ranks of this host now, because the rank that has them, the
// leader, may be gone when they are needed.
func (s *session) fetchBells() error {
	if s.info.Bell == nil || s.fetched.Swap(true) {
		return nil
	}
	type bell struct {
		of int
		f  *os.File
	}
	come := make(chan bell, s.info.LocalSize)
	for r := range s.info.LocalSize {
		if err := s.Bell(r, func(f *os.File) { come <- bell{r, f} }); err != nil {
			s.conn.Close() // it is of no use, and the reader is to see that too, after what has come
			break
		}
	}
	for range s.info.LocalSize {
		select {
		case b := <-come:
			s.bellMu.Lock()
			if s.stored == nil {
				s.stored = make(map[int]*os.File)
			}
			s.stored[b.of] = b.f
			s.bellMu.Unlock()
		case <-s.donec: // after it nothing comes
			for len(come) > 0 {
				closeFiles((<-come).f)
			}
			return fmt.Errorf("boot: fetching the bells of this host: lost %s", s.other)
		}
	}
	return nil
}

// dropBells closes what was fetched and not asked for.
func (s *session) dropBells() {
	s.bellMu.Lock()
	defer s.bellMu.Unlock()
	for _, f := range s.stored {
		f.Close()
	}
	clear(s.stored)
}

// takeBell hands a bell to the call of Bell that asked for it first. It closes a bell for which no
// call has asked.
func (s *session) takeBell(m message) error {
	files, err := s.in.rights.claim(m.FDs, fdBell)
	if err != nil {
		return err
	}
	bell := files[0]
	if bell == nil {
		return fmt.Errorf("the launcher sent the bell of local rank %d without its descriptor", m.Rank)
	}
	s.bellMu.Lock()
	var then func(*os.File)
	if waiting := s.bells[m.Rank]; len(waiting) > 0 {
		then, s.bells[m.Rank] = waiting[0], waiting[1:]
	}
	s.bellMu.Unlock()
	if then == nil {
		bell.Close()
		return nil
	}
	then(bell)
	return nil
}
