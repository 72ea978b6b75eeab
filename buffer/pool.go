package buffer

import "fmt"

// Pool hands out blocks and keeps those that come back, so that steady traffic allocates nothing.
// The blocks handed out, counted by their size class, stay within a budget, except for what
// [Pool.Force] takes. Blocks kept for reuse fill at most what the budget leaves; when a size is
// asked for that is not there, kept blocks of other sizes are dropped to make room, and the garbage
// collector has them.
type Pool struct {
	budget int // it grows, by Grow

	used      int // bytes handed out
	kept      int // bytes in free; used + kept <= budget, unless used alone is above it
	highWater int // largest used ever
	stalls    int // refused Gets

	free [numClasses][][]byte // stacks: the block used last is the one in the cache
	out  [numClasses]int      // blocks handed out; it finds a block that is put twice sooner or later
	live liveSet              // finds it at once, in builds with checks
}

// NewPool makes a pool with a budget in bytes. It allocates no block yet.
func NewPool(budget int) *Pool {
	if budget < 0 {
		panic(fmt.Sprintf("buffer: bug: budget %d", budget))
	}
	return &Pool{budget: budget}
}

// Grow adds n bytes to the budget.
func (p *Pool) Grow(n int) { p.budget += n }

// Get hands out a block of length n, with the capacity of its size class and any contents. It
// returns false when that would exceed the budget: wait until something is Put.
func (p *Pool) Get(n int) (b []byte, ok bool) {
	checkSize(n)
	if n > p.budget {
		p.stalls++
		return nil, false
	}
	class, size := classFor(n)
	if size > p.budget-p.used {
		p.stalls++
		return nil, false
	}
	return p.take(class, size, n), true
}

// Force hands out a block even beyond the budget. It is for what must move so that memory is freed
// at all, such as control frames.
func (p *Pool) Force(n int) []byte {
	checkSize(n)
	class, size := classFor(n)
	return p.take(class, size, n)
}

// Put takes back a block: what Get or Force returned, at any length, with the same start and
// capacity.
func (p *Pool) Put(b []byte) {
	if cap(b) < minBlock || cap(b) > maxBlock {
		panic(fmt.Sprintf("buffer: bug: put of a foreign block, capacity %d", cap(b)))
	}
	class, size := classFor(cap(b))
	if size != cap(b) || p.out[class] == 0 {
		panic(fmt.Sprintf("buffer: bug: put of a foreign block, capacity %d", cap(b)))
	}
	p.live.remove(b)
	p.out[class]--
	p.used -= size
	p.recycle(class, b)
}

// Used is the number of bytes handed out, by size class.
func (p *Pool) Used() int { return p.used }

// Kept is the number of bytes of the blocks that are kept for reuse.
func (p *Pool) Kept() int { return p.kept }

// HighWater is the largest value that Used ever had.
func (p *Pool) HighWater() int { return p.highWater }

// Budget is what NewPool was given.
func (p *Pool) Budget() int { return p.budget }

// Stalls counts the Gets that were refused.
func (p *Pool) Stalls() int { return p.stalls }

func checkSize(n int) {
	if n < 0 || n > maxBlock {
		panic(fmt.Sprintf("buffer: bug: block of %d bytes", n))
	}
}

func (p *Pool) take(class, size, n int) []byte {
	var b []byte
	if stack := p.free[class]; len(stack) > 0 {
		top := len(stack) - 1
		b, stack[top] = stack[top], nil
		p.free[class] = stack[:top]
		p.kept -= size
	} else {
		p.makeRoom(size)
		b = make([]byte, size)
	}
	p.live.add(b)
	p.out[class]++
	p.used += size
	p.highWater = max(p.highWater, p.used)
	return b[:n]
}

// recycle keeps b for reuse if the budget has room for it.
func (p *Pool) recycle(class int, b []byte) {
	if p.used+p.kept+cap(b) > p.budget {
		return
	}
	p.free[class] = append(p.free[class], b[:0])
	p.kept += cap(b)
}

// makeRoom drops kept blocks, the largest first because that drops the fewest, until size more
// bytes fit the budget or none are left.
func (p *Pool) makeRoom(size int) {
	for class := numClasses - 1; p.kept > 0 && p.used+p.kept+size > p.budget; {
		top := len(p.free[class]) - 1
		if top < 0 {
			class--
			continue
		}
		p.kept -= cap(p.free[class][top])
		p.free[class][top] = nil
		p.free[class] = p.free[class][:top]
	}
}
