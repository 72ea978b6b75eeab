package mpi

import (
	"errors"
	"fmt"
)

// A gob stream of a peer is looked through before gob decodes it. gob checks the lengths of strings
// and slices, and how deep types are nested that it leaves out. It descends into values by
// recursion however deep they are, which may end the process. It makes room for as many entries as
// a map says it has, whatever follows, and counts to that number where an entry has no bytes.
//
// The look goes the way that gob goes, with a stack of its own. It knows the types of the stream
// alone, not those that are asked for. So it leaves to gob whether these agree.

// mostNestedStream is how deep values of a stream may be nested, as mostNested counts. The sender
// counts only parts that may be nested without end; there are a few within and around them.
const mostNestedStream = mostNested + 1000

var (
	errStream      = errors.New("it is not what gob makes of a value")
	errStreamDepth = fmt.Errorf("it is nested more than %d levels deep", mostNestedStream)
	errStreamCount = errors.New("it announces more elements than it has bytes")
)

// streamKind is how a value of a type lies in a stream.
type streamKind uint8

const (
	streamNone      streamKind = iota
	streamNumber               // one number
	streamPair                 // two
	streamBytes                // a length, then bytes
	streamStruct               // numbers of fields, each as the distance to the one before, with values; then 0
	streamSlice                // a count, then elements
	streamArray                // likewise
	streamMap                  // a count, then keys and elements
	streamInterface            // a name, a type, a length, a value
)

// streamType is a type of a stream.
type streamType struct {
	kind      streamKind
	elem, key int64
	fields    []int64
}

// Numbers of types that gob knows without definition, and of the first that is defined.
const (
	streamInterfaceID = 8
	streamFirstID     = 64
)

var streamBasics = [streamInterfaceID + 1]streamType{
	1: {kind: streamNumber}, 2: {kind: streamNumber}, 3: {kind: streamNumber}, 4: {kind: streamNumber}, // bool, int, uint, float
	5: {kind: streamBytes}, 6: {kind: streamBytes}, 7: {kind: streamPair}, streamInterfaceID: {kind: streamInterface},
}

// streamPart is a value that the look is in.
type streamPart struct {
	t      *streamType
	n      int // field of a struct; elements, or keys and elements, that are left; 1 for the value of an interface before it is visited
	id     int64
	end    int // of an interface: bytes of the message that are left behind it
	number int // of an interface: of definitions that came before its value
}

// streamLook is a look through a stream.
type streamLook struct {
	message []byte // what is left of it
	rest    []byte // messages that follow
	types   map[int64]*streamType
	path    []streamPart
	depth   int
}

// checkStream says why b is no gob stream of a value, or why gob cannot decode it safely.
func checkStream(b []byte) error {
	l := &streamLook{rest: b, types: make(map[int64]*streamType)}
	id, err := l.sequence(false)
	if err == nil {
		err = l.whole(id)
	}
	for err == nil && len(l.path) > 0 {
		err = l.step()
	}
	return err
}

// sequence reads definitions of types until the number of one that a value has follows.
func (l *streamLook) sequence(inInterface bool) (id int64, err error) {
	for {
		if len(l.message) == 0 && !l.next() {
			return 0, errObjectShort
		}
		id, ok := l.signed()
		switch {
		case !ok:
			return 0, errStream
		case id >= 0:
			return id, nil
		case !l.define(-id):
			return 0, errStream
		case len(l.message) == 0:
			continue
		case !inInterface:
			return 0, errStream
		}
		if _, ok := l.number(); !ok { // the length of what follows
			return 0, errStream
		}
	}
}

// next goes on to the next message.
func (l *streamLook) next() bool {
	l.message, l.rest = l.rest, nil
	n, ok := l.number()
	if !ok || n > uint64(len(l.message)) {
		return false
	}
	l.message, l.rest = l.message[:n], l.message[n:]
	return true
}

// number reads a number.
func (l *streamLook) number() (x uint64, ok bool) {
	b := l.message
	if len(b) == 0 {
		return 0, false
	}
	if b[0] <= 0x7f {
		l.message = b[1:]
		return uint64(b[0]), true
	}
	n := -int(int8(b[0]))
	if n > 8 || n >= len(b) {
		return 0, false
	}
	for _, c := range b[1 : 1+n] {
		x = x<<8 | uint64(c)
	}
	l.message = b[1+n:]
	return x, true
}

// signed reads a number that has a sign.
func (l *streamLook) signed() (x int64, ok bool) {
	u, ok := l.number()
	if x = int64(u >> 1); u&1 != 0 {
		x = ^x
	}
	return x, ok
}

// skip passes over a length and as many bytes.
func (l *streamLook) skip() bool {
	n, ok := l.number()
	if !ok || n > uint64(len(l.message)) {
		return false
	}
	l.message = l.message[n:]
	return true
}

// count reads how many elements follow, each of a byte at least.
func (l *streamLook) count() (int, error) {
	n, ok := l.number()
	switch {
	case !ok:
		return 0, errStream
	case n > uint64(len(l.message)+len(l.rest)):
		return 0, errStreamCount
	}
	return int(n), nil
}

// whole begins a value that no other contains, or that an interface does.
func (l *streamLook) whole(id int64) error {
	if t := l.typeOf(id); t != nil && t.kind != streamStruct {
		if zero, ok := l.number(); !ok || zero != 0 {
			return errStream
		}
	}
	return l.value(id)
}

func (l *streamLook) typeOf(id int64) *streamType {
	if id > 0 && id < int64(len(streamBasics)) {
		return &streamBasics[id]
	}
	return l.types[id]
}

// value passes over a value, or begins one that has parts.
func (l *streamLook) value(id int64) error {
	t := l.typeOf(id)
	if t == nil {
		return errStream
	}
	ok := true
	switch t.kind {
	case streamNumber:
		_, ok = l.number()
	case streamPair:
		if _, ok = l.number(); ok {
			_, ok = l.number()
		}
	case streamBytes:
		ok = l.skip()
	case streamStruct:
		return l.begin(streamPart{t: t, n: -1}, 1)
	case streamSlice, streamArray:
		return l.elements(t)
	case streamMap:
		n, err := l.count()
		if err != nil || n == 0 {
			return err
		}
		return l.begin(streamPart{t: t, n: 2 * n}, 2)
	case streamInterface:
		return l.dynamic(t)
	}
	if !ok {
		return errStream
	}
	return nil
}

func (l *streamLook) begin(p streamPart, weight int) error {
	if l.depth += weight; l.depth > mostNestedStream {
		return errStreamDepth
	}
	l.path = append(l.path, p)
	return nil
}

// elements passes over those of a slice or array if they are numbers, and else begins them.
func (l *streamLook) elements(t *streamType) error {
	n, err := l.count()
	if err != nil || n == 0 {
		return err
	}
	if of := l.typeOf(t.elem); of == nil || of.kind != streamNumber {
		return l.begin(streamPart{t: t, n: n}, 1)
	}
	for range n {
		if _, ok := l.number(); !ok {
			return errStream
		}
	}
	return nil
}

// dynamic begins the value of an interface, unless that is nil.
func (l *streamLook) dynamic(t *streamType) error {
	n, ok := l.number() // how long its name is
	switch {
	case !ok || n > uint64(len(l.message)):
		return errStream
	case n == 0:
		return nil
	}
	l.message = l.message[n:]
	id, err := l.sequence(true)
	if err != nil {
		return err
	}
	if n, ok = l.number(); !ok || n > uint64(len(l.message)) {
		return errStream
	}
	return l.begin(streamPart{t: t, n: 1, id: id, end: len(l.message) - int(n), number: len(l.types)}, 2)
}

// step goes on with the innermost value that has parts: into the next of these, or out of it.
func (l *streamLook) step() error {
	p := &l.path[len(l.path)-1]
	switch p.t.kind {
	case streamStruct:
		return l.field(p)
	case streamInterface:
		if p.n--; p.n == 0 {
			return l.whole(p.id)
		}
		if len(l.message) != p.end && len(l.types) == p.number { // definitions within come with lengths of their own
			return errStream
		}
		l.end(2)
		return nil
	case streamMap:
		return l.element(p, 2)
	default:
		return l.element(p, 1)
	}
}

func (l *streamLook) end(weight int) {
	l.depth -= weight
	l.path = l.path[:len(l.path)-1]
}

// field goes on with a struct.
func (l *streamLook) field(p *streamPart) error {
	distance, ok := l.number()
	switch {
	case !ok:
		return errObjectShort
	case distance == 0:
		l.end(1)
		return nil
	case distance > uint64(len(p.t.fields)-1-p.n):
		return errStream
	}
	p.n += int(distance)
	return l.value(p.t.fields[p.n])
}

// element goes on with a slice, an array, or a map, whose keys and elements take turns.
func (l *streamLook) element(p *streamPart, weight int) error {
	if p.n == 0 {
		l.end(weight)
		return nil
	}
	if len(l.message) == 0 {
		return errObjectShort
	}
	p.n--
	if p.t.kind == streamMap && p.n%2 != 0 {
		return l.value(p.t.key)
	}
	return l.value(p.t.elem)
}
