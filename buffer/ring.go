package buffer

// Ring is a queue in a circular array that doubles when it is full and never shrinks. The zero
// value is empty and ready.
type Ring[T any] struct {
	slots []T // length zero or a power of two; slots outside the queue are zero
	head  int // index of the front, below len(slots)
	n     int
}

// Len is the number of elements.
func (r *Ring[T]) Len() int { return r.n }

// Push appends v at the back. Pointers from Front and At are invalid afterwards.
func (r *Ring[T]) Push(v T) {
	if r.n == len(r.slots) {
		r.grow()
	}
	r.slots[(r.head+r.n)&(len(r.slots)-1)] = v
	r.n++
}

func (r *Ring[T]) grow() {
	slots := make([]T, max(8, 2*len(r.slots)))
	k := copy(slots, r.slots[r.head:])
	copy(slots[k:], r.slots[:r.head])
	r.slots, r.head = slots, 0
}

// At points to the i-th element, the front being 0. It is valid until the next Push, or until the
// element is popped.
func (r *Ring[T]) At(i int) *T {
	if i < 0 || i >= r.n {
		panic("buffer: bug: ring index out of range")
	}
	return &r.slots[(r.head+i)&(len(r.slots)-1)]
}

// Front is At(0).
func (r *Ring[T]) Front() *T { return r.At(0) }

// PopFront removes the front, clears its slot, so that nothing stays reachable by it, and returns
// what it held.
func (r *Ring[T]) PopFront() T {
	slot := r.At(0)
	v := *slot
	*slot = *new(T)
	r.head = (r.head + 1) & (len(r.slots) - 1)
	r.n--
	return v
}

// Clear empties the ring and clears its slots. It keeps the array.
func (r *Ring[T]) Clear() {
	clear(r.slots)
	r.head, r.n = 0, 0
}
