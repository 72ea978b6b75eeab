package gateway

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/relay"
)

// awaitState waits until holds, which is called with the gateway's mutex locked.
func (g running) awaitState(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(failsafe); ; time.Sleep(time.Millisecond) {
		g.mu.Lock()
		ok := holds()
		g.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it never came to that; the log:\n%s", g.log)
		}
	}
}

// TestTwoGatewaysDialOne: two gateways of a domain do not drive each other away, and each serves
// when the other is gone.
func TestTwoGatewaysDialOne(t *testing.T) {
	for _, gone := range []int{0, 1} {
		west := run(t, Config{Domain: "west"})
		var easts [2]running
		for i := range easts {
			easts[i] = run(t, Config{Domain: "east", Peers: []string{west.addr}})
			west.awaitState(t, func() bool { return len(west.callers["east"]) == i+1 })
		}
		e := rank(t, "east")
		want(t, west.addr, "east", e, "both", "east hears: both")
		easts[gone].Close()
		west.awaitState(t, func() bool { return len(west.callers["east"]) == 1 })
		want(t, west.addr, "east", e, "one", "east hears: one")
		if n := strings.Count(west.log.String(), "msg=linked"); n != 2 {
			t.Errorf("%d links, want 2; the log:\n%s", n, west.log)
		}
	}
}

// TestOneDialsTwoGateways: a domain is reached as long as one of its gateways is linked.
func TestOneDialsTwoGateways(t *testing.T) {
	for _, gone := range []int{0, 1} {
		easts := [2]running{run(t, Config{Domain: "east"}), run(t, Config{Domain: "east"})}
		west := run(t, Config{Domain: "west", Peers: []string{easts[0].addr, easts[1].addr}})
		west.awaitState(t, func() bool { return west.dialled[easts[0].addr] != "" && west.dialled[easts[1].addr] != "" })
		easts[gone].Close()
		west.log.await(t, "no link")
		want(t, west.addr, "east", rank(t, "east"), "one", "east hears: one")
	}
}

// TestLongReason: a reason that is cut in the middle of a character is a message that the other end
// takes.
func TestLongReason(t *testing.T) {
	for n := range 4 {
		m := failed("", errors.New(strings.Repeat("x", relay.MaxReason-n)+"éé"))
		if _, err := readMessage(appendMessage(nil, m)); err != nil {
			t.Errorf("%d bytes before a character: %v", relay.MaxReason-n, err)
		}
	}
}
