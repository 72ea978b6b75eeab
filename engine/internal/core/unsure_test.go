package core

import "testing"

// A stream that has gone on with another connection is unsure until all of it is acknowledged, be
// there an acknowledgement of ours to write or not.
func TestUnsure(t *testing.T) {
	f := newNet(t, 2, Config{ShortMax: 30})
	f.keep()
	f.connectAll()
	want := func(unsure bool, when string) {
		t.Helper()
		if f.cores[0].Unsure() != unsure {
			t.Fatalf("unsure %v %s", !unsure, when)
		}
	}
	send := func(from, n int) {
		m := &MSO{Kind: KindSend, Peer: PeerID(1 - from), Buf: pattern(n, 1)}
		f.post(from, m)
		f.jobs(from)
	}
	acknowledge := func(rank int) {
		f.cores[rank].Acknowledge(PeerID(1-rank), f.pipes[[2]int{1 - rank, rank}].pos, true)
	}
	pass := func(from, n int) {
		f.write(from, 1-from, n)
		f.deliver(from, 1-from, n, 1<<20)
	}
	send(0, 20)
	pass(0, 10)
	want(false, "before a connection broke")
	f.reconnect(0, 1)
	want(true, "when the connection stands")
	send(1, 20)
	pass(1, 1<<20)
	pass(0, 30)
	acknowledge(1)
	pass(1, 1<<20)
	want(true, "when a part is acknowledged")
	pass(0, 1<<20)
	send(1, 20)
	pass(1, 1<<20)
	acknowledge(0)
	if f.cores[0].Pending(1) == 0 {
		t.Fatal("there is no acknowledgement to write")
	}
	acknowledge(1)
	pass(1, 1<<20)
	want(false, "when all is acknowledged")
	f.reconnect(0, 1)
	want(true, "when another one stands")
	f.cut(0, 1)
	f.cores[0].FailPeer(1, nil, true, nil)
	want(false, "when the peer is gone")
}
