package core

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// check looks whether t is what its comments say it is.
func (t *table) check() error {
	queues, n := 0, 0
	for b, q := range t.buckets {
		for ; q != nil; q = q.chain {
			queues++
			if int(q.key.hash()&uint64(len(t.buckets)-1)) != b {
				return fmt.Errorf("queue %v in bucket %d", q.key, b)
			}
			if q.head == nil {
				return fmt.Errorf("queue %v is empty", q.key)
			}
			k, err := t.checkQueue(q)
			if err != nil {
				return err
			}
			n += k
		}
	}
	if queues != t.queues || n != t.n || queues > len(t.buckets) {
		return fmt.Errorf("%d queues, %d MSOs, %d buckets; counted %d, %d", t.queues, t.n, len(t.buckets), queues, n)
	}
	return nil
}

func (t *table) checkQueue(q *queue) (n int, err error) {
	var prev *MSO
	for m := q.head; m != nil; m = m.links[t.slot].next {
		l := m.links[t.slot]
		if l.q != q || l.prev != prev {
			return n, fmt.Errorf("broken links in queue %v", q.key)
		}
		if prev != nil && prev.seq >= m.seq {
			return n, fmt.Errorf("queue %v is out of order", q.key)
		}
		prev = m
		n++
	}
	if q.tail != prev {
		return n, fmt.Errorf("queue %v has a wrong tail", q.key)
	}
	return n, nil
}

func (p *posted) check() error {
	wild := 0
	if p.one != nil && p.t.n > 0 {
		return fmt.Errorf("one receive beside %d in the table", p.t.n)
	}
	p.all(func(m *MSO) {
		if m.Peer == AnyPeer || m.Tag == AnyTag {
			wild++
		}
	})
	if wild != p.wild {
		return fmt.Errorf("%d wildcards, counted %d", p.wild, wild)
	}
	return p.t.check()
}

func (e *events) check() error {
	for i := range e.t {
		if err := e.t[i].check(); err != nil {
			return err
		}
		if want := e.t[0].n; (i == 0 || e.wild) && e.t[i].n != want || i > 0 && !e.wild && e.t[i].n != 0 {
			return fmt.Errorf("index %d has %d of %d messages", i, e.t[i].n, want)
		}
	}
	return nil
}

func TestTableGrows(t *testing.T) {
	e := newEvents()
	var all []*MSO
	for i := range 10_000 {
		m := &MSO{Peer: PeerID(i % 7), Tag: Tag(i / 3), Ctx: ContextID(i % 2), seq: e.next()}
		e.add(m)
		all = append(all, m)
		if i == 5_000 && e.find(key{0, AnyPeer, AnyTag}) != all[0] {
			t.Fatal("the first message is not found")
		}
	}
	if err := e.check(); err != nil {
		t.Fatal(err)
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, m := range all[:5_000] { // some are received, and come back
		e.remove(m)
	}
	for _, m := range all[:5_000] {
		e.add(m)
	}
	if err := e.check(); err != nil || e.len() != len(all) {
		t.Fatal(err, e.len())
	}
	for i, m := range all {
		e.remove(m)
		e.remove(m) // of what is not there: nothing
		if i%1000 == 0 {
			if err := e.check(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(e.check()); err != nil || e.len() != 0 {
		t.Fatal(err, e.len())
	}
}

// TestProbeSteps counts what one look-up walks over, at 10,000 entries with keys
// as programs use them: running tags, one tag of many ranks, many contexts.
func TestProbeSteps(t *testing.T) {
	shapes := map[string]func(i int) key{
		"tags":          func(i int) key { return key{0, 1, Tag(i)} },
		"ranks":         func(i int) key { return key{2, PeerID(i), 5} },
		"contexts":      func(i int) key { return key{ContextID(i) << 1, 1, 5} },
		"collectives":   func(i int) key { return key{ContextID(i/100)<<32 | 1, PeerID(i % 100), 0} },
		"even tags":     func(i int) key { return key{1, 0, Tag(i * 1024)} },
		"ranks by tags": func(i int) key { return key{0, PeerID(i % 100), Tag(i / 100)} },
	}
	for name, shape := range shapes {
		tab := newTable(0)
		var keys []key
		for i := range 10_000 {
			keys = append(keys, shape(i))
			tab.push(keys[i], &MSO{seq: uint64(i)})
		}
		longest, sum := 0, 0
		for _, k := range keys {
			steps := 1
			for q := tab.buckets[k.hash()&uint64(len(tab.buckets)-1)]; q.key != k; q = q.chain {
				steps++
			}
			longest, sum = max(longest, steps), sum+steps
		}
		if mean := float64(sum) / float64(len(keys)); mean > 2 || longest > 12 {
			t.Errorf("%s: %.2f steps on average, %d at most", name, mean, longest)
		}
	}
}

// TestMatchAllocs: once the tables have seen their peak, matching allocates nothing.
func TestMatchAllocs(t *testing.T) {
	c := New(Config{Peers: 2})
	ms := make([]*MSO, 1000)
	for i := range ms {
		ms[i] = &MSO{Kind: KindRecv, Peer: 1, Tag: Tag(i), Buf: make([]byte, 8)}
	}
	round := func() {
		for _, m := range ms {
			m.Reset()
			c.Post(m)
		}
		for _, m := range slices.Backward(ms) {
			c.Cancel(m)
		}
	}
	round()
	if n := testing.AllocsPerRun(10, round); n != 0 {
		t.Fatalf("%v allocations for 1000 receives", n)
	}
}

// BenchmarkUnexpected receives one of 10,000 queued messages by its tag: tags in reverse order must
// cost what tags in order cost.
func BenchmarkUnexpected(b *testing.B) {
	const n = 10_000
	for name, tag := range map[string]func(i int) int{
		"inorder": func(i int) int { return i },
		"reverse": func(i int) int { return n - 1 - i },
		"random":  func(i int) int { return i * 7919 % n },
	} {
		b.Run(name, func(b *testing.B) {
			e := newEvents()
			us := make([]*MSO, n)
			for i := range us {
				us[i] = &MSO{Peer: 1, Tag: Tag(i)}
			}
			for i := n; b.Loop(); i++ {
				if i == n {
					b.StopTimer()
					for _, u := range us {
						u.seq = e.next()
						e.add(u)
					}
					b.StartTimer()
					i = 0
				}
				e.remove(e.find(key{0, 1, Tag(tag(i))}))
			}
		})
	}
}

// BenchmarkPosted matches one of 10,000 posted receives.
func BenchmarkPosted(b *testing.B) {
	const n = 10_000
	for name, tag := range map[string]func(i int) int{
		"inorder": func(i int) int { return i },
		"reverse": func(i int) int { return n - 1 - i },
	} {
		b.Run(name, func(b *testing.B) {
			p := posted{t: newTable(0)}
			ms := make([]*MSO, n)
			for i := range ms {
				ms[i] = &MSO{Peer: 1, Tag: Tag(i)}
			}
			for i := n; b.Loop(); i++ {
				if i == n {
					b.StopTimer()
					for _, m := range ms {
						p.add(m)
					}
					b.StartTimer()
					i = 0
				}
				p.match(key{0, 1, Tag(tag(i))})
			}
		})
	}
}
