package calls

import (
	"slices"
	"strconv"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
)

// category is a group of variables. Those of control and of performance variables are one where
// they have one name.
type category struct {
	name         string
	cvars, pvars []int
}

// categories are those of all variables, in their order.
var categories = func() (all []*category) {
	named := func(name string) *category {
		i := slices.IndexFunc(all, func(k *category) bool { return k.name == name })
		if i < 0 {
			i = len(all)
			all = append(all, &category{name: name})
		}
		return all[i]
	}
	for i, v := range cvars {
		k := named(string(v.Group))
		k.cvars = append(k.cvars, i)
	}
	for i, m := range pvars {
		k := named(m.Group)
		k.pvars = append(k.pvars, i)
	}
	return all
}()

func init() {
	tool(procedure.TCategoryGetNum, func(c *call) error { c.setInt(0, len(categories)); return nil })
	tool(procedure.TCategoryGetIndex, func(c *call) error {
		name := c.text(0)
		i := slices.IndexFunc(categories, func(k *category) bool { return k.name == name })
		if i < 0 {
			return failf(abi.TErrInvalidName, "%q is no category", name)
		}
		c.setInt(1, i)
		return nil
	})
	tool(procedure.TCategoryGetInfo, func(c *call) error {
		k := c.category()
		c.say(1, k.name)
		c.say(3, "what is about "+k.name+": "+strconv.Itoa(len(k.cvars))+" control variables, "+strconv.Itoa(len(k.pvars))+" performance variables")
		c.tell(5, len(k.cvars))
		c.tell(6, len(k.pvars))
		c.tell(7, 0)
		return nil
	})
	tool(procedure.TCategoryGetCvars, func(c *call) error { return c.indices(c.category().cvars) })
	tool(procedure.TCategoryGetPvars, func(c *call) error { return c.indices(c.category().pvars) })
	tool(procedure.TCategoryGetCategories, func(c *call) error { c.category(); return nil })
	tool(procedure.TCategoryGetEvents, func(c *call) error { c.category(); return nil })
	tool(procedure.TCategoryGetNumEvents, func(c *call) error { c.category(); c.setInt(1, 0); return nil })
}

// category is that of the first argument.
func (c *call) category() *category { return categories[c.item(0, len(categories))] }

// indices writes as many of a list as there is room for.
func (c *call) indices(list []int) error {
	c.setInts(2, list[:min(len(list), max(c.int(1), 0))])
	return nil
}
