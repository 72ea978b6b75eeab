package calls

import (
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// pvars are the performance variables: what package metrics shows, but for histograms, by the same
// names. Where Prometheus has several series, told apart by labels, the variable is their sum. They
// count from MPI_Init on, whether or not anything reads them: so they are read-only and continuous.
var pvars = slices.DeleteFunc(telemetry.Metrics(), func(m telemetry.Metric) bool { return m.Shape != nil })

// pvarPrefix begins the names.
const pvarPrefix = "fitmpi_"

// pvarClass is the class of a variable, and the datatype of its values.
func pvarClass(m *telemetry.Metric) (class int, datatype handle) {
	switch {
	case m.IsTime():
		return abi.TPvarClassTimer, abi.Double
	case m.Kind == telemetry.Counter:
		return abi.TPvarClassCounter, abi.UnsignedLongLong
	case strings.Contains(m.Name, "high_water"):
		return abi.TPvarClassHighwatermark, abi.UnsignedLongLong
	default:
		return abi.TPvarClassLevel, abi.UnsignedLongLong
	}
}

func init() {
	tool(procedure.TPvarGetNum, func(c *call) error { c.setInt(0, len(pvars)); return nil })
	tool(procedure.TPvarGetIndex, func(c *call) error {
		name := c.text(0)
		i := slices.IndexFunc(pvars, func(m telemetry.Metric) bool { return pvarPrefix+m.Name == name })
		if i >= 0 {
			if class, _ := pvarClass(&pvars[i]); class == c.int(1) {
				c.setInt(2, i)
				return nil
			}
		}
		return failf(abi.TErrInvalidName, "%q is no performance variable of class %d", name, c.int(1))
	})
	tool(procedure.TPvarGetInfo, pvarInfo)
	tool(procedure.TPvarSessionCreate, createSession)
	tool(procedure.TPvarSessionFree, freeSession)
	tool(procedure.TPvarHandleAlloc, pvarAlloc)
	tool(procedure.TPvarHandleFree, pvarFree)
	tool(procedure.TPvarRead, pvarRead)
	for id, code := range map[procedure.ID]int{
		procedure.TPvarWrite: abi.TErrPvarNoWrite, procedure.TPvarReset: abi.TErrPvarNoWrite, procedure.TPvarReadreset: abi.TErrPvarNoWrite,
		procedure.TPvarStart: abi.TErrPvarNoStartstop, procedure.TPvarStop: abi.TErrPvarNoStartstop,
	} {
		tool(id, func(c *call) error { return pvarFixed(c, code) })
	}
}

func pvarInfo(c *call) error {
	m := &pvars[c.item(0, len(pvars))]
	class, datatype := pvarClass(m)
	c.say(1, pvarPrefix+m.Name)
	c.tell(3, abi.TVerbosityTunerBasic)
	c.tell(4, class)
	c.tellHandle(5, datatype)
	c.tellHandle(6, abi.TEnumNull)
	c.say(7, m.Help)
	c.tell(9, abi.TBindNoObject)
	c.tell(10, 1) // read-only
	c.tell(11, 1) // continuous
	c.tell(12, 0) // atomic
	return nil
}

func createSession(c *call) error {
	to := c.need(0)
	tools.mu.Lock()
	defer tools.mu.Unlock()
	h := newToolHandleLocked()
	tools.sessions[h] = map[int64]int{}
	*at[int64](to) = h
	return nil
}

func freeSession(c *call) error {
	p := at[int64](c.need(0))
	tools.mu.Lock()
	defer tools.mu.Unlock()
	pvarsOfLocked(*p)
	delete(tools.sessions, *p)
	*p = abi.TPvarSessionNull
	return nil
}

// pvarsOfLocked are the variables of a session, by handle.
func pvarsOfLocked(session int64) map[int64]int {
	s, ok := tools.sessions[session]
	if !ok {
		panic(failf(abi.TErrInvalidSession, "%#x is no session", session))
	}
	return s
}

// pvarLocked is the place of the variable of a handle of a session.
func pvarLocked(session, h int64) int {
	k, ok := pvarsOfLocked(session)[h]
	if !ok {
		panic(failf(abi.TErrInvalidHandle, "%#x is no handle of a performance variable of the session", h))
	}
	return k
}

func pvarAlloc(c *call) error {
	tools.mu.Lock()
	defer tools.mu.Unlock()
	s := pvarsOfLocked(c.args[0])
	i := c.item(1, len(pvars))
	to, count := c.need(3), c.need(4)
	h := newToolHandleLocked()
	s[h] = i
	*at[int64](to), *at[int32](count) = h, 1
	return nil
}

func pvarFree(c *call) error {
	p := at[int64](c.need(1))
	tools.mu.Lock()
	defer tools.mu.Unlock()
	pvarLocked(c.args[0], *p)
	delete(pvarsOfLocked(c.args[0]), *p)
	*p = abi.TPvarHandleNull
	return nil
}

// pvarRead reads a variable: 0 before there is a rank that counts.
func pvarRead(c *call) error {
	tools.mu.Lock()
	k := func() int { defer tools.mu.Unlock(); return pvarLocked(c.args[0], c.args[1]) }()
	to, value := c.need(2), 0.0
	if m := tools.rank.Load(); m != nil {
		of := m.Counters()
		st := of.Stats()
		value = pvars[k].Sum(&st, of.Collectives())
	}
	if _, datatype := pvarClass(&pvars[k]); datatype == abi.Double {
		*at[float64](to) = value
	} else {
		*at[uint64](to) = uint64(value)
	}
	return nil
}

// pvarFixed is what variables that are read-only and continuous do not let be done: to all handles
// of a session it is done, as there are none that it concerns (MPI 5.0, section 15.3.7).
func pvarFixed(c *call, code int) error {
	tools.mu.Lock()
	defer tools.mu.Unlock()
	pvarsOfLocked(c.args[0])
	isOfAll := c.id != procedure.TPvarWrite && c.id != procedure.TPvarReadreset
	if isOfAll && c.args[1] == abi.TPvarAllHandles {
		return nil
	}
	m := &pvars[pvarLocked(c.args[0], c.args[1])]
	return failf(code, "%s%s is read-only and always counts", pvarPrefix, m.Name)
}
