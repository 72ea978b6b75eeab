package calls

import (
	"strings"

	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// info is an info object of C.
type info struct{ i *mpi.Info }

func (i *info) dup() *info { return &info{i.i.Dup()} }

// orNil is what package mpi has for it, nil for none.
func (i *info) orNil() *mpi.Info {
	if i == nil {
		return nil
	}
	return i.i
}

func init() {
	for id, h := range map[procedure.ID]handler{
		procedure.InfoCreate:    func(c *call) error { c.setHandle(0, infos.add(&info{mpi.InfoCreate()})); return nil },
		procedure.InfoCreateEnv: func(c *call) error { c.setHandle(2, infos.add(&info{mpi.InfoCreateEnv()})); return nil },
		procedure.InfoDup:       func(c *call) error { c.setHandle(1, infos.add(c.info(0).dup())); return nil },
		procedure.InfoFree:      infoFree,
		procedure.InfoSet:       infoSet,
		procedure.InfoDelete:    func(c *call) error { return c.info(0).i.Delete(c.key(1)) },
		procedure.InfoGetNkeys:  func(c *call) error { c.setInt(1, c.info(0).i.NKeys()); return nil },
		procedure.InfoGetNthkey: infoNthKey,
		procedure.InfoGetString: infoGetString,
		procedure.InfoGet:       infoGet,
		procedure.InfoGetValuelen: func(c *call) error {
			v, ok := c.info(0).i.Get(c.key(1))
			if c.setBool(3, ok); ok {
				c.setInt(2, len(v))
			}
			return nil
		},
	} {
		register(id, h)
		anytime[id] = true
	}
	register(procedure.GetHwResourceInfo, func(c *call) error {
		c.setHandle(0, infos.add(&info{mpi.HWResourceInfo()}))
		return nil
	})
	env := &info{mpi.InfoCreateEnv()}
	infos.predefine(abi.InfoEnv, env)
}

// key is a key: leading and trailing spaces are no part of it.
func (c *call) key(i int) string {
	k := strings.TrimSpace(c.text(i))
	switch {
	case len(k) >= abi.MaxInfoKey:
		panic(failf(abi.ErrInfoKey, "the key has %d bytes: need %d at most", len(k), abi.MaxInfoKey-1))
	case k == "":
		panic(failf(abi.ErrInfoKey, "the key is empty"))
	}
	return k
}

func infoSet(c *call) error {
	v := strings.TrimSpace(c.text(2))
	if len(v) >= abi.MaxInfoVal {
		return failf(abi.ErrInfoValue, "the value has %d bytes: need %d at most", len(v), abi.MaxInfoVal-1)
	}
	return c.info(0).i.Set(c.key(1), v)
}

func infoFree(c *call) error {
	p := at[handle](c.need(0))
	infos.get(*p)
	if *p == abi.InfoEnv {
		return failf(abi.ErrInfo, "MPI_INFO_ENV is predefined and cannot be freed")
	}
	infos.remove(*p)
	*p = abi.InfoNull
	return nil
}

func infoNthKey(c *call) error {
	k, err := c.info(0).i.NthKey(c.int(1))
	if err == nil {
		c.setText(2, k, abi.MaxInfoKey, -1)
	}
	return err
}

// infoGetString sets the length that a value needs, with the zero byte at its end.
func infoGetString(c *call) error {
	v, ok := c.info(0).i.Get(c.key(1))
	if c.setBool(4, ok); !ok {
		return nil
	}
	room := int(*at[int32](c.need(2)))
	if room > 0 {
		c.setText(3, v, room, -1)
	}
	c.setInt(2, len(v)+1)
	return nil
}

func infoGet(c *call) error {
	v, ok := c.info(0).i.Get(c.key(1))
	if c.setBool(4, ok); ok {
		c.setText(3, v, c.count(2)+1, -1)
	}
	return nil
}
