//go:build race || fitmpi_checks

package buffer

// liveSet knows every block that is handed out, by its first byte.
type liveSet struct{ blocks map[*byte]struct{} }

func (l *liveSet) add(b []byte) {
	if l.blocks == nil {
		l.blocks = make(map[*byte]struct{})
	}
	l.blocks[&b[:1][0]] = struct{}{}
}

func (l *liveSet) remove(b []byte) {
	first := &b[:1][0]
	if _, ok := l.blocks[first]; !ok {
		panic("buffer: bug: put of a block that is not handed out")
	}
	delete(l.blocks, first)
}
