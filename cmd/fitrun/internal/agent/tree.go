//go:build linux

package agent

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
)

// node is a process of the tree, fitrun or an agent, as far as it reaches others.
type node struct {
	// immutable after the first reach
	up      func(f frame) error // takes a frame from below, an error ends the conversation with the host that it came from; called by several goroutines
	way     Way
	fanOut  int
	silence time.Duration
	binary  func(ctx context.Context, arch string) (Binary, error)
	guard   *crew.Guard

	threads sync.WaitGroup // of reach

	mu       sync.Mutex
	branches []*branch
	route    map[int]*branch // by host: through which it is reached
	closing  bool            // no branch is added any more
}

// reach reaches hosts, some of them through others. Of each comes kindFacts, or kindLost. It does
// not wait.
func (n *node) reach(ctx context.Context, targets []Target) {
	var direct, others []Target // those where an agent listens are reached by the process that knows the secret: fitrun
	for _, t := range targets {
		if t.Agent {
			direct = append(direct, t)
		} else {
			others = append(others, t)
		}
	}
	for _, group := range append(split(others, n.fanOut), split(direct, len(direct))...) {
		n.threads.Go(func() { // ends with ctx
			if err := n.reachGroup(ctx, group); err != nil {
				n.up(pack(kindLost, group[0].Host, text{err.Error()}))
			}
		})
	}
}

// split divides hosts into at most k groups of neighbours. The first of each is to be reached
// directly, the others through it.
func split(targets []Target, k int) [][]Target {
	k = min(max(k, 1), len(targets))
	var groups [][]Target
	for i := range k {
		groups = append(groups, targets[i*len(targets)/k:(i+1)*len(targets)/k])
	}
	return groups
}

func (n *node) reachGroup(ctx context.Context, group []Target) error {
	b, r, facts, err := n.open(ctx, group[0])
	if err != nil {
		return err
	}
	b.behind = group[1:]
	if err := n.add(b, r); err != nil {
		b.close()
		return err
	}
	left := time.Hour
	if when, ok := ctx.Deadline(); ok {
		left = time.Until(when)
	}
	b.conn.send(pack(kindHello, b.target.Host, hello{
		Host: b.target.Host, Silence: n.silence, Below: b.behind, Way: n.way, FanOut: n.fanOut, Timeout: left,
	}))
	facts.host = uint32(b.target.Host)
	if err := n.up(facts); err != nil { // what follows from it comes after the greeting
		return err
	}
	b.conn.begin(func(f frame) error { return n.fromBelow(b, f) }, func(err error) { n.lost(b, err) })
	return nil
}

// open reaches t: when it returns, an agent runs there and has said its facts, in a frame that is
// returned.
func (n *node) open(ctx context.Context, t Target) (*branch, *bufio.Reader, frame, error) {
	if t.Agent {
		return dial(ctx, t, n.way.Secret, n.silence)
	}
	return open(ctx, t, n.way, n.binary, n.silence, n.guard)
}

// add makes b known.
func (n *node) add(b *branch, r *bufio.Reader) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		return errClosed
	}
	b.conn = newConn(r, b.in, n.silence, b.cut)
	n.branches = append(n.branches, b)
	if n.route == nil {
		n.route = make(map[int]*branch)
	}
	n.route[b.target.Host] = b
	for _, t := range b.behind {
		n.route[t.Host] = b
	}
	return nil
}

// fromBelow passes a frame up.
func (n *node) fromBelow(b *branch, f frame) error {
	if h := int(f.host); h != b.target.Host && !slices.ContainsFunc(b.behind, func(t Target) bool { return t.Host == h }) {
		return fmt.Errorf("a frame of host %d, which is not behind it", h)
	}
	return n.up(f)
}

// lost passes up that a conversation is over, of all hosts that it was with.
func (n *node) lost(b *branch, err error) {
	why := b.explain(context.Background(), err).Error()
	n.up(pack(kindLost, b.target.Host, text{why}))
	for _, t := range b.behind {
		n.up(pack(kindLost, t.Host, text{fmt.Sprintf("reached through %s: %s", b.target, why)}))
	}
}

// down passes a frame to its addressee below, if there is one; wait says whether to wait while much
// is on its way.
func (n *node) down(f frame, wait bool) {
	for _, b := range n.addressees(f) {
		if wait {
			b.conn.push(f)
		} else {
			b.conn.send(f)
		}
	}
}

func (n *node) addressees(f frame) []*branch {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f.host == everyHost {
		return slices.Clone(n.branches)
	}
	if b := n.route[int(f.host)]; b != nil {
		return []*branch{b}
	}
	return nil
}

// pids are the processes by which hosts are reached.
func (n *node) pids() []int {
	n.mu.Lock()
	defer n.mu.Unlock()
	var pids []int
	for _, b := range n.branches {
		if b.cmd != nil {
			pids = append(pids, b.cmd.Process.Pid)
		}
	}
	return pids
}

// close ends all conversations, each when everything is written, but after a moment in any case,
// and waits. Preconditions:
//   - The context of reach has ended, or all hosts are reached.
func (n *node) close() {
	n.mu.Lock()
	n.closing = true
	branches := slices.Clone(n.branches)
	n.mu.Unlock()
	n.threads.Wait()
	var ends sync.WaitGroup
	for _, b := range branches {
		ends.Go(func() {
			b.conn.finish()
			select {
			case <-b.conn.drained:
			case <-time.After(exitGrace):
			}
			b.close()
			b.conn.close()
			b.conn.wait()
		})
	}
	ends.Wait()
}
