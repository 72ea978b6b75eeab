package core

// Message is a message of plain memory that needs no MSO, because it is complete at once: a send
// that is copied, or a receive of what is there.
type Message struct {
	Peer   PeerID // no wildcard; of a receive from Any, once it has received: whose message it is
	Any    bool   // a receive of any peer's message
	Tag    Tag    // AnyTag is possible in a receive
	Ctx    ContextID
	Elem   uint8  // element class: announced by a send; what a receive got
	Object bool   // of a send: the payload is a serialised object
	Buf    []byte // what to send, or where to receive

	// Set when the message is sent or received.
	GotTag  Tag    // of a receive
	Length  int    // of a receive: bytes of the message
	Ordinal uint64 // no other Message that this rank has sent or received has the same
}

// key is what the receive r asks for.
func (r *Message) key() key {
	if r.Any {
		return key{r.Ctx, AnyPeer, r.Tag}
	}
	return key{r.Ctx, r.Peer, r.Tag}
}
