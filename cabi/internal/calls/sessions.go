package calls

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// session is a session of C.
type session struct {
	*mpi.Session
	h    handle
	errh atomic.Pointer[errhandler]
}

func (s *session) handler() *errhandler { return s.errh.Load() }
func (s *session) self() handle         { return s.h }

// abort ends the process, and so its job: fitrun sees that it failed.
func (s *session) abort(text string) {
	fmt.Fprintln(os.Stderr, "fitmpi:", text)
	os.Exit(1)
}

var sessions = table[session]{kind: kindSession, null: abi.SessionNull, code: abi.ErrSession, what: "session"}

// openSessions is how many there are: where there is one, MPI may be called.
var openSessions atomic.Int32

func (c *call) session(i int) *session {
	s := sessions.get(handle(c.args[i]))
	c.on = s
	return s
}

func init() {
	register(procedure.SessionInit, sessionInit)
	register(procedure.SessionFinalize, sessionFinalize)
	register(procedure.SessionGetNumPsets, func(c *call) error {
		n, err := c.session(0).NumPsets()
		if err == nil {
			c.setInt(2, n)
		}
		return err
	})
	register(procedure.SessionGetNthPset, sessionNthPset)
	register(procedure.SessionGetInfo, func(c *call) error {
		i, err := c.session(0).Info()
		if err == nil {
			c.setHandle(1, infos.add(&info{i}))
		}
		return err
	})
	register(procedure.SessionGetPsetInfo, func(c *call) error {
		i, err := c.session(0).PsetInfo(c.pset(1))
		if err == nil {
			c.setHandle(2, infos.add(&info{i}))
		}
		return err
	})
	register(procedure.GroupFromSessionPset, func(c *call) error {
		g, err := c.session(0).GroupFromPset(c.pset(1))
		return c.giveGroup(2, g, err)
	})
	register(procedure.SessionSetErrhandler, func(c *call) error {
		c.session(0).errh.Swap(errhandlers.get(handle(c.args[1])).use()).release()
		return nil
	})
	register(procedure.SessionGetErrhandler, func(c *call) error {
		c.setHandle(1, c.session(0).handler().use().h)
		return nil
	})
	register(procedure.SessionCallErrhandler, func(c *call) error {
		raise(c.session(0), c.int(1), c.name()+": "+textOfCode(c.int(1)))
		return nil
	})
	register(procedure.SessionAttachBuffer, func(c *call) error { return attach(c, 1, c.session(0).AttachBuffer) })
	register(procedure.SessionDetachBuffer, func(c *call) error { return detach(c, 1, c.session(0).DetachBuffer) })
	register(procedure.SessionFlushBuffer, func(c *call) error { return c.session(0).FlushBuffer() })
	register(procedure.SessionIflushBuffer, func(c *call) error { return c.started(1, c.session(0).IflushBuffer()) })
	register(procedure.CommCreateFromGroup, commCreateFromGroup)
	register(procedure.IntercommCreateFromGroups, intercommCreateFromGroups)
}

// pset is the name of a process set, which is a URI: those of the standard may be in small letters.
func (c *call) pset(i int) string {
	name := c.text(i)
	for _, known := range []string{mpi.PsetWorld, mpi.PsetSelf} {
		if strings.EqualFold(name, known) {
			return known
		}
	}
	return name
}

// making is a communicator or session that is being made: it has an error handler, but no handle.
type making struct{ errh *errhandler }

func (m *making) handler() *errhandler { return m.errh }
func (m *making) self() handle         { return abi.CommNull }
func (m *making) abort(text string)    { noWorld.abort(text) }

// makes is the error handler of an argument, which gets the errors of the call.
func (c *call) makes(i int) *errhandler {
	e := errhandlers.get(handle(c.args[i]))
	c.on = &making{e}
	return e
}

func sessionInit(c *call) error {
	e := c.makes(1)
	made, err := mpi.SessionInit(context.Background(), c.infoOr(0).orNil(), mpi.ErrorsReturn[*mpi.Session])
	if err != nil {
		return err
	}
	s := &session{Session: made}
	s.errh.Store(e.use())
	s.h = sessions.add(s)
	openSessions.Add(1)
	joins(nil)
	c.setHandle(2, s.h)
	return nil
}

func sessionFinalize(c *call) error {
	p := at[handle](c.need(0))
	s := sessions.get(*p)
	c.on = s
	if err := s.Finalize(); err != nil {
		return err
	}
	openSessions.Add(-1)
	sessions.remove(s.h)
	*p = abi.SessionNull
	return nil
}

// sessionNthPset sets the length that a name needs, with the zero byte at its end.
func sessionNthPset(c *call) error {
	name, err := c.session(0).NthPset(c.int(2))
	if err != nil {
		return err
	}
	if room := int(*at[int32](c.need(3))); room > 0 {
		c.setText(4, name, room, -1)
	}
	c.setInt(3, len(name)+1)
	return nil
}

// created writes the handle of a communicator that has no parent.
func (c *call) created(i int, made *mpi.Comm, e *errhandler, err error) error {
	if err != nil {
		return err
	}
	joins(made)
	m := newComm(made, e)
	m.h = comms.add(m)
	c.setHandle(i, m.h)
	return nil
}

func commCreateFromGroup(c *call) error {
	e := c.makes(3)
	made, err := mpi.CommCreateFromGroup(c.group(0).Group, c.text(1), c.infoOr(2).orNil(), mpi.ErrorsReturn[*mpi.Comm])
	return c.created(4, made, e, err)
}

func intercommCreateFromGroups(c *call) error {
	e := c.makes(6)
	made, err := mpi.IntercommCreateFromGroups(c.group(0).Group, c.int(1), c.group(2).Group, c.int(3), c.text(4),
		c.infoOr(5).orNil(), mpi.ErrorsReturn[*mpi.Comm])
	return c.created(7, made, e, err)
}
