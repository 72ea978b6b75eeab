package boot

import "sync/atomic"

// changing is what ChangeCards was given; nil outside of tests.
var changing atomic.Pointer[func(rank int, card []byte) []byte]

// ChangeCards lets change say what a rank of this process, started by fitrun, tells the others of
// itself, in place of its own card, until restore is called. It is for tests that put something
// between ranks, such as a proxy that breaks connections: only the rank knows where it listens.
func ChangeCards(change func(rank int, card []byte) []byte) (restore func()) {
	changing.Store(&change)
	return func() { changing.Store(nil) }
}

// changed is the card that a rank gives.
func changed(rank int, card []byte) []byte {
	if change := changing.Load(); change != nil {
		return (*change)(rank, card)
	}
	return card
}
