package calls

import (
	"os"
	"slices"
	"strconv"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/internal/params"
)

// cvars are the control variables: the environment variables that a rank reads, in the order of the
// table of package params. A rank takes its parameters when it joins its job: until then a variable
// has the value that the environment has for it, and may be written, which is to set it there. From
// then on it has the value that is in force.
var cvars = params.Of(params.Rank)

// textRoom is the room for values that are text, with the zero byte.
const textRoom = 1024

// shapeOf is how values of a control variable come to C: a switch, a number and one of several
// choices as an int, a size in bytes, and all else as text.
func shapeOf(v *params.Variable) (datatype handle, count int) {
	switch v.Kind {
	case params.Switch, params.Number, params.Choice:
		return abi.Int, 1
	case params.Size:
		return abi.UnsignedLongLong, 1
	default:
		return abi.Char, textRoom
	}
}

func init() {
	tool(procedure.TCvarGetNum, func(c *call) error { c.setInt(0, len(cvars)); return nil })
	tool(procedure.TCvarGetIndex, func(c *call) error {
		name := c.text(0)
		i := slices.IndexFunc(cvars, func(v params.Variable) bool { return v.Name == name })
		if i < 0 {
			return failf(abi.TErrInvalidName, "%q is no control variable", name)
		}
		c.setInt(1, i)
		return nil
	})
	tool(procedure.TCvarGetInfo, cvarInfo)
	tool(procedure.TCvarHandleAlloc, cvarAlloc)
	tool(procedure.TCvarHandleFree, cvarFree)
	tool(procedure.TCvarRead, func(c *call) error { return c.readCvar(1, c.cvar(0)) })
	tool(procedure.TCvarWrite, cvarWrite)
	tool(procedure.TEnumGetInfo, func(c *call) error {
		v := c.enum(0)
		c.setInt(1, len(v.Values))
		c.say(2, v.Name)
		return nil
	})
	tool(procedure.TEnumGetItem, func(c *call) error {
		v := c.enum(0)
		i := c.item(1, len(v.Values))
		c.setInt(2, i)
		c.say(3, v.Values[i])
		return nil
	})
}

func cvarInfo(c *call) error {
	i := c.item(0, len(cvars))
	v := &cvars[i]
	c.say(1, v.Name)
	verbosity, scope, enum := abi.TVerbosityTunerBasic, abi.TScopeLocal, handle(abi.TEnumNull)
	if v.Option != "" {
		verbosity = abi.TVerbosityUserBasic
	}
	if v.Alike {
		scope = abi.TScopeAllEq
	}
	if v.Kind == params.Choice {
		enum = enumOf(i)
	}
	datatype, _ := shapeOf(v)
	c.tell(3, verbosity)
	c.tellHandle(4, datatype)
	c.tellHandle(5, enum)
	c.say(6, v.Text+". Values: "+v.Allowed()+". Default: "+v.Default)
	c.tell(8, abi.TBindNoObject)
	c.tell(9, scope)
	return nil
}

// enumOf is the handle of the enumeration of the values of a control variable.
func enumOf(i int) handle { return handle(firstToolHandle + i) }

// enum is the control variable of an enumeration.
func (c *call) enum(i int) *params.Variable {
	k := int(c.args[i]) - firstToolHandle
	if k < 0 || k >= len(cvars) || cvars[k].Kind != params.Choice {
		panic(failf(abi.TErrInvalidHandle, "%#x is no enumeration", c.args[i]))
	}
	return &cvars[k]
}

func cvarAlloc(c *call) error {
	i := c.item(0, len(cvars))
	to, count := c.need(2), c.need(3)
	tools.mu.Lock()
	defer tools.mu.Unlock()
	h := newToolHandleLocked()
	tools.cvars[h] = i
	_, n := shapeOf(&cvars[i])
	*at[int64](to), *at[int32](count) = h, int32(n)
	return nil
}

func cvarFree(c *call) error {
	p := at[int64](c.need(0))
	tools.mu.Lock()
	defer tools.mu.Unlock()
	if _, ok := tools.cvars[*p]; !ok {
		return failf(abi.TErrInvalidHandle, "%#x is no handle of a control variable", *p)
	}
	delete(tools.cvars, *p)
	*p = abi.TCvarHandleNull
	return nil
}

// cvar is the place of the control variable of a handle.
func (c *call) cvar(i int) int {
	tools.mu.Lock()
	defer tools.mu.Unlock()
	k, ok := tools.cvars[c.args[i]]
	if !ok {
		panic(failf(abi.TErrInvalidHandle, "%#x is no handle of a control variable", c.args[i]))
	}
	return k
}

// inForce is the value of a control variable, "" if there is none but the default, in words.
func inForce(k int) string {
	if m := tools.rank.Load(); m != nil {
		return m.Variables()[k].Value
	}
	v := &cvars[k]
	value := os.Getenv(v.Name)
	if value == "" && v.Check(v.Default) == nil && v.Kind != params.Text {
		value = v.Default
	}
	return value
}

// readCvar writes the value of a control variable to argument i. A size and a number are 0 where
// only words say what the default is.
func (c *call) readCvar(i, k int) error {
	v, value := &cvars[k], inForce(k)
	to := c.need(i)
	n, err := 0, error(nil)
	switch v.Kind {
	case params.Choice:
		if n = slices.Index(v.Values, value); value == "" {
			n = 0 // FITMPI_ERRHANDLER, before MPI_Init: in C it is fatal
		} else if n < 0 {
			return failf(abi.TErrInvalid, "%s is %q, which is none of its values", v.Name, value)
		}
	case params.Switch, params.Number:
		if value != "" {
			n, err = strconv.Atoi(value)
		}
	case params.Size:
		if value != "" {
			n, err = params.ParseSize(value)
		}
		*at[uint64](to) = uint64(n)
		return err
	default:
		setText(to, value, textRoom)
		return nil
	}
	*at[int32](to) = int32(n)
	return err
}

// cvarWrite sets the environment variable, which the rank reads when it joins its job.
func cvarWrite(c *call) error {
	v := &cvars[c.cvar(0)]
	from := c.need(1)
	if tools.joined.Load() {
		return failf(abi.TErrCvarSetNotNow, "%s: the rank has joined its job: write before MPI_Init", v.Name)
	}
	value := ""
	switch v.Kind {
	case params.Choice:
		n := int(*at[int32](from))
		if n < 0 || n >= len(v.Values) {
			return failf(abi.TErrInvalid, "%s: %d is no item of its enumeration", v.Name, n)
		}
		value = v.Values[n]
	case params.Switch, params.Number:
		value = strconv.Itoa(int(*at[int32](from)))
	case params.Size:
		value = strconv.FormatUint(*at[uint64](from), 10)
	default:
		value = text(from)
	}
	if err := v.Check(value); err != nil {
		return failf(abi.TErrInvalid, "%v", err)
	}
	return os.Setenv(v.Name, value)
}
