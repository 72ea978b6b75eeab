package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

func init() {
	register(procedure.TopoTest, func(c *call) error {
		kinds := map[mpi.Topology]int{mpi.Cart: abi.Cart, mpi.Graph: abi.Graph, mpi.DistGraph: abi.DistGraph}
		kind, ok := kinds[c.comm(0).TopoTest()]
		if !ok {
			kind = abi.Undefined
		}
		c.setInt(1, kind)
		return nil
	})
	register(procedure.DimsCreate, dimsCreate)
	register(procedure.CartCreate, cartCreate)
	register(procedure.CartGet, cartGet)
	register(procedure.CartRank, cartRank)
	register(procedure.CartCoords, cartCoords)
	register(procedure.CartShift, cartShift)
	register(procedure.CartSub, cartSub)
	register(procedure.CartMap, cartMap)
	register(procedure.CartdimGet, func(c *call) error {
		n, err := c.comm(0).CartdimGet()
		if err == nil {
			c.setInt(1, n)
		}
		return err
	})
	register(procedure.GraphCreate, graphCreate)
	register(procedure.GraphGet, graphGet)
	register(procedure.GraphMap, graphMap)
	register(procedure.GraphdimsGet, graphdimsGet)
	register(procedure.GraphNeighbors, graphNeighbors)
	register(procedure.GraphNeighborsCount, graphNeighborsCount)
	register(procedure.DistGraphCreate, distGraphCreate)
	register(procedure.DistGraphCreateAdjacent, distGraphCreateAdjacent)
	register(procedure.DistGraphNeighbors, distGraphNeighbors)
	register(procedure.DistGraphNeighborsCount, distGraphNeighborsCount)
}

// dimensions is a number of dimensions.
func (c *call) dimensions(i int) int {
	n := c.int(i)
	if n < 0 {
		panic(failf(abi.ErrDims, "the number of dimensions is %d: need 0 or more", n))
	}
	return n
}

func (c *call) flags(i, n int) []bool {
	list := make([]bool, n)
	for k, v := range c.shorts(i, n) {
		list[k] = v != 0
	}
	return list
}

func dimsCreate(c *call) error {
	dims, err := mpi.DimsCreate(c.int(0), c.shorts(2, c.dimensions(1)))
	if err == nil {
		c.setInts(2, dims)
	}
	return err
}

func cartCreate(c *call) error {
	m, n := c.comm(0), c.dimensions(1)
	made, err := m.CartCreate(c.shorts(2, n), c.flags(3, n), c.bool(4))
	return c.give(5, made, m, err)
}

func cartGet(c *call) error {
	dims, periods, coords, err := c.comm(0).CartGet()
	if err != nil {
		return err
	}
	n := min(c.dimensions(1), len(dims))
	c.setInts(2, dims[:n])
	flags := make([]int, n)
	for k, p := range periods[:n] {
		if p {
			flags[k] = 1
		}
	}
	c.setInts(3, flags)
	c.setInts(4, coords[:n])
	return nil
}

func cartRank(c *call) error {
	m := c.comm(0)
	n, err := m.CartdimGet()
	if err != nil {
		return err
	}
	r, err := m.CartRank(c.shorts(1, n))
	if err == nil {
		c.setInt(2, r)
	}
	return err
}

func cartCoords(c *call) error {
	coords, err := c.comm(0).CartCoords(c.int(1))
	if err != nil {
		return err
	}
	if c.int(2) < len(coords) {
		return failf(abi.ErrArg, "there is room for %d coordinates, there are %d", c.int(2), len(coords))
	}
	c.setInts(3, coords)
	return nil
}

func cartShift(c *call) error {
	source, dest, err := c.comm(0).CartShift(c.int(1), c.int(2))
	if err == nil {
		c.setInt(3, source)
		c.setInt(4, dest)
	}
	return err
}

func cartSub(c *call) error {
	m := c.comm(0)
	n, err := m.CartdimGet()
	if err != nil {
		return err
	}
	made, err := m.CartSub(c.flags(1, n))
	return c.give(2, made, m, err)
}

// setRank writes a rank, which may be none.
func (c *call) setRank(i, r int) {
	if r == mpi.Undefined {
		r = abi.Undefined
	}
	c.setInt(i, r)
}

func cartMap(c *call) error {
	m, n := c.comm(0), c.dimensions(1)
	r, err := m.CartMap(c.shorts(2, n), c.flags(3, n))
	if err == nil {
		c.setRank(4, r)
	}
	return err
}

// graph is the index and the edges of a graph of n nodes.
func (c *call) graph(i, n int) (index, edges []int) {
	if n < 0 {
		panic(failf(abi.ErrTopology, "the graph has %d nodes: need 0 or more", n))
	}
	if n == 0 {
		return nil, nil
	}
	index = c.shorts(i, n)
	return index, c.shorts(i+1, index[n-1])
}

func graphCreate(c *call) error {
	m := c.comm(0)
	index, edges := c.graph(2, c.int(1))
	made, err := m.GraphCreate(index, edges, c.bool(4))
	return c.give(5, made, m, err)
}

func graphGet(c *call) error {
	index, edges, err := c.comm(0).GraphGet()
	if err == nil {
		c.setInts(3, index[:min(len(index), c.count(1))])
		c.setInts(4, edges[:min(len(edges), c.count(2))])
	}
	return err
}

func graphMap(c *call) error {
	m := c.comm(0)
	index, edges := c.graph(2, c.int(1))
	r, err := m.GraphMap(index, edges)
	if err == nil {
		c.setRank(4, r)
	}
	return err
}

func graphdimsGet(c *call) error {
	nodes, edges, err := c.comm(0).GraphdimsGet()
	if err == nil {
		c.setInt(1, nodes)
		c.setInt(2, edges)
	}
	return err
}

func graphNeighbors(c *call) error {
	list, err := c.comm(0).GraphNeighbors(c.int(1))
	if err == nil {
		c.setInts(3, list[:min(len(list), c.count(2))])
	}
	return err
}

func graphNeighborsCount(c *call) error {
	n, err := c.comm(0).GraphNeighborsCount(c.int(1))
	if err == nil {
		c.setInt(2, n)
	}
	return err
}

// weights are n weights, or none.
func (c *call) weights(i, n int) []int {
	switch c.args[i] {
	case abi.Unweighted:
		return mpi.Unweighted
	case abi.WeightsEmpty:
		return []int{}
	}
	return c.shorts(i, n)
}

func sum(list []int) (n int) {
	for _, k := range list {
		n += k
	}
	return n
}

func distGraphCreate(c *call) error {
	m, n := c.comm(0), c.count(1)
	degrees := c.shorts(3, n)
	total := sum(degrees)
	made, err := m.DistGraphCreate(c.shorts(2, n), degrees, c.shorts(4, total), c.weights(5, total), c.bool(7))
	return c.give(8, made, m, err)
}

func distGraphCreateAdjacent(c *call) error {
	m, in, out := c.comm(0), c.count(1), c.count(4)
	made, err := m.DistGraphCreateAdjacent(c.shorts(2, in), c.weights(3, in), c.shorts(5, out), c.weights(6, out), c.bool(8))
	return c.give(9, made, m, err)
}

func distGraphNeighbors(c *call) error {
	sources, inWeights, dests, outWeights, err := c.comm(0).DistGraphNeighbors()
	if err != nil {
		return err
	}
	in, out := min(c.count(1), len(sources)), min(c.count(4), len(dests))
	c.setInts(2, sources[:in])
	c.setInts(5, dests[:out])
	c.setWeights(3, inWeights, in)
	c.setWeights(6, outWeights, out)
	return nil
}

// setWeights writes weights, if there are any and they are asked for.
func (c *call) setWeights(i int, list []int, n int) {
	if c.args[i] != abi.Unweighted && c.args[i] != abi.WeightsEmpty && len(list) >= n {
		c.setInts(i, list[:n])
	}
}

func distGraphNeighborsCount(c *call) error {
	in, out, weighted, err := c.comm(0).DistGraphNeighborsCount()
	if err == nil {
		c.setInt(1, in)
		c.setInt(2, out)
		c.setBool(3, weighted)
	}
	return err
}
