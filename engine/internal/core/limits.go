package core

import (
	"fmt"
)

// What a rank keeps of messages that no receive has asked for is bounded in three ways. Payloads
// that came without permission, and their entries, are paid for by credit: at most the window of
// each peer. Beyond that a message is announced, and an announcement is an entry of EntrySize
// bytes. A sender whose caller has returned may have Parked of them at a receiver, then its callers
// wait: that is the backpressure. Those of nonblocking sends take memory of the sender's users too.
// What bounds them is Announced: a peer that sends one more than that is given up. Order and
// progress forbid to hold a header back, as a receive for it may be posted at any time.
const (
	// EntrySize is what a message that waits for its receive takes beside its payload, in bytes.
	EntrySize = entrySize
	// DefaultUnexpected is how many bytes of announcements a rank keeps.
	DefaultUnexpected = 256 << 20
	// DefaultAnnounced is the same as a number of messages.
	DefaultAnnounced = DefaultUnexpected / EntrySize
	// MinUnexpected is more than all peers can park, by the defaults.
	MinUnexpected = 64 << 20

	allWindows = 64 << 20 // bytes of the windows of all peers, if each has more than MinWindow
	longWindow = 1 << 20  // of the default window, what payloads of more than ShortMax may take
	allParked  = 64 << 10 // sends that all peers may have parked at a rank, if each may have more than minParked
	maxParked  = 1 << 10
	minParked  = 64

	// maxSpare is how many MSOs are kept for later.
	maxSpare = 4 << 10
)

// defaultWindow is the credit for each of so many peers.
func defaultWindow(peers int) int {
	return min(DefaultWindow, max(allWindows/max(peers-1, 1), MinWindow))
}

// spared is how much of a window payloads of more than ShortMax leave to shorter ones. Those are
// worth it: to announce one costs its receiver as much as to copy a hundred, and programs that send
// many thousands before they are received are not rare. A long one is copied twice when it comes
// unasked, and once when it is announced.
func spared(window int) int {
	return min(max(window-longWindow, 0), DefaultWindow-longWindow)
}

// defaultParked is Config.Parked for so many peers.
func defaultParked(peers int) int {
	return min(maxParked, max(allParked/max(peers-1, 1), minParked))
}

// UnexpectedError says that more messages were announced than a rank keeps.
type UnexpectedError struct {
	Messages int // that wait for their receives, from all peers
	Bytes    int // that their announcements take
	Most     PeerID
	OfMost   int // of them from Most
}

func (e *UnexpectedError) Error() string {
	return fmt.Sprintf("%d messages that no receive has asked for take %d MiB here, which is the limit: %d are from rank %d. "+
		"Post receives sooner, wait for sends now and then, or raise FITMPI_UNEXPECTED", e.Messages, e.Bytes>>20, e.OfMost, e.Most)
}

// tooMany says how many announcements wait here, and which peer has the most of them.
func (c *Core) tooMany() error {
	of := make([]int, len(c.peers))
	c.events.t[0].all(func(u *MSO) {
		if u.State() == Awaiting {
			of[u.Peer]++
		}
	})
	for _, s := range c.services {
		for u := s.waiting.head; u != nil; u = u.next {
			if u.State() == Awaiting {
				of[u.Peer]++
			}
		}
	}
	e := &UnexpectedError{Messages: c.announced, Bytes: c.announced * EntrySize}
	for id, n := range of {
		if n > e.OfMost {
			e.Most, e.OfMost = PeerID(id), n
		}
	}
	return e
}
