package tests

import (
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// lengths in int64 that take every protocol: short to 4 KB, eager to 256 KB, rendezvous beyond.
var lengths = []int{1, 2, 512, 513, 4000, 8192, 32768, 32769, 40000}

// mixed is a fixed order of lengths in which each follows each other one at some time.
func mixed(k int) int { return lengths[(k*k*3+k*5+k/8)%len(lengths)] }

// ramp is a message whose every element tells where it should be.
func ramp(n, seed int) []int64 {
	b := make([]int64, n)
	for i := range b {
		b[i] = int64(seed)<<32 | int64(i)
	}
	return b
}

func right(c *mpi.Comm) int { return (c.Rank() + 1) % c.Size() }
func left(c *mpi.Comm) int  { return (c.Rank() + c.Size() - 1) % c.Size() }

const nonovertaking = "If a sender sends two messages in succession to the same destination, and both match the same receive, " +
	"then this operation cannot receive the second message if the first one is still pending."

var orderCases = []testCase{
	{name: "order/exact", section: "3.5", sentence: nonovertaking,
		run: func(t *T, c *mpi.Comm) { orderOfMessages(t, c, false, false) }},
	{name: "order/any source", section: "3.5", sentence: nonovertaking,
		run: func(t *T, c *mpi.Comm) { orderOfMessages(t, c, true, false) }},
	{name: "order/any tag", section: "3.5", sentence: nonovertaking,
		run: func(t *T, c *mpi.Comm) { orderOfMessages(t, c, false, true) }},
	{name: "order/both wildcards", section: "3.5", sentence: nonovertaking,
		run: func(t *T, c *mpi.Comm) { orderOfMessages(t, c, true, true) }},
	{name: "order/receives", section: "3.5",
		sentence: "If a receiver posts two receives in succession, and both match the same message, then the second receive " +
			"operation cannot be satisfied by this message, if the first one is still pending.",
		run: orderOfReceives},
	{name: "order/synchronous", section: "3.5", sentence: nonovertaking, run: orderOfModes},
	{name: "order/deep", section: "FitMPI",
		sentence: "In jobs of up to nine ranks ten thousand short messages can be sent, by blocking sends, before the first is received.",
		min:      2, max: 9, world: true, run: orderOfMany},
	{name: "progress/matched pair", section: "3.5",
		sentence: "If a pair of matching send and receives have been initiated on two processes, then at least one of these two " +
			"operations will complete, independently of other actions in the system.",
		run: progressBesideOthers},
	{name: "progress/without calls", section: "FitMPI",
		sentence: "Messages move while you compute: a sender that calls nothing does not delay its receiver.",
		min:      2, run: progressWithoutCalls},
	{name: "progress/receive without calls", section: "FitMPI",
		sentence: "Messages move while you compute: a posted receive is answered by the worker, so its sender completes.",
		min:      2, run: progressOfReceive},
	{name: "tags/select", section: "3.2.3",
		sentence: "The tag of a message lets the program tell different types of messages apart.",
		run:      tagsSelect},
}

// orderOfMany: every rank sends its right neighbour messages of many tags before it receives those
// of its left, the last first.
func orderOfMany(t *T, c *mpi.Comm) {
	const n = 10_000
	buf := make([]int64, 1)
	for tag := range n {
		t.must(mpi.Send(c, []int64{int64(tag)}, right(c), tag), "message", tag)
	}
	for tag := n - 1; tag >= 0; tag-- {
		_, err := mpi.Recv(c, buf, left(c), tag)
		t.must(err, "message", tag)
		want(t, "message", buf[0], int64(tag))
	}
}

// orderOfMessages: every rank sends its right neighbour messages of one tag, all lengths mixed.
func orderOfMessages(t *T, c *mpi.Comm, anySource, anyTag bool) {
	const n = 48
	source, tag := left(c), 5
	if anySource {
		source = mpi.AnySource
	}
	if anyTag {
		tag = mpi.AnyTag
	}
	var rs []*mpi.Request
	for k := range n {
		rs = append(rs, mpi.Isend(c, ramp(mixed(k), k), right(c), 5))
	}
	buf := make([]int64, lengths[len(lengths)-1])
	for k := range n {
		st, err := mpi.Recv(c, buf, source, tag)
		t.must(err, "message", k)
		want(t, "source", st.Source, left(c))
		want(t, "tag", st.Tag, 5)
		wantSlice(t, "message", buf[:st.Count], ramp(mixed(k), k))
	}
	_, err := mpi.WaitAll(rs...)
	t.must(err)
}

// orderOfReceives: receives of several wildcards, posted before the messages come.
func orderOfReceives(t *T, c *mpi.Comm) {
	const n = 40
	var rs []*mpi.Request
	bufs := make([][]int64, n)
	for k := range n {
		source, tag := left(c), 5
		if k%2 == 1 {
			source = mpi.AnySource
		}
		if k%3 == 1 {
			tag = mpi.AnyTag
		}
		bufs[k] = make([]int64, mixed(k))
		rs = append(rs, mpi.Irecv(c, bufs[k], source, tag))
	}
	t.must(mpi.Barrier(c))
	for k := range n {
		t.must(mpi.Send(c, ramp(mixed(k), k), right(c), 5))
	}
	sts, err := mpi.WaitAll(rs...)
	t.must(err)
	for k, st := range sts {
		want(t, "count", st.Count, mixed(k))
		wantSlice(t, "message", bufs[k], ramp(mixed(k), k))
	}
}

// orderOfModes: the mode of a send changes nothing about its place.
func orderOfModes(t *T, c *mpi.Comm) {
	const n = 24
	var rs []*mpi.Request
	for k := range n {
		send := []func(*mpi.Comm, []int64, int, int) *mpi.Request{mpi.Isend[int64], mpi.Issend[int64], mpi.Irsend[int64]}[k%3]
		rs = append(rs, send(c, ramp(mixed(k), k), right(c), 5))
	}
	for k := range n {
		got, _, err := mpi.RecvNew[int64](c, left(c), 5)
		t.must(err)
		wantSlice(t, "message", got, ramp(mixed(k), k))
	}
	_, err := mpi.WaitAll(rs...)
	t.must(err)
}

// progressBesideOthers: messages that no receive wants yet, large and small, do not hold up the one
// that is wanted.
func progressBesideOthers(t *T, c *mpi.Comm) {
	const n = 60
	var rs []*mpi.Request
	for k := range n {
		rs = append(rs, mpi.Isend(c, ramp(mixed(k), k), right(c), 100+k))
	}
	rs = append(rs, mpi.Isend(c, ramp(70000, 7), right(c), 1))
	buf := make([]int64, 70000)
	_, err := mpi.Recv(c, buf, left(c), 1)
	t.must(err)
	wantSlice(t, "the wanted message", buf, ramp(70000, 7))
	for k := n - 1; k >= 0; k-- {
		st, err := mpi.Recv(c, buf, left(c), 100+k)
		t.must(err)
		wantSlice(t, "message", buf[:st.Count], ramp(mixed(k), k))
	}
	_, err = mpi.WaitAll(rs...)
	t.must(err)
}

// progressWithoutCalls: rank 0 computes, without a call, until it sees from outside that the others
// have the message.
func progressWithoutCalls(t *T, c *mpi.Comm) {
	if t.Policy == "caller" {
		return // messages move only inside calls: that is what it is for
	}
	const n = 1 << 18
	if c.Rank() == 0 {
		r := mpi.Isend(c, ramp(n, 3), 1, 0)
		computeUntil(t, "received")
		for end := time.Now().Add(failsafe); ; { // a test is an atomic load: the send completes by itself
			_, done, err := r.Test()
			t.must(err)
			if done {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("the message was received, yet the send does not complete")
			}
		}
	}
	if c.Rank() == 1 {
		buf := make([]int64, n)
		_, err := mpi.Recv(c, buf, 0, 0)
		t.must(err)
		wantSlice(t, "message", buf, ramp(n, 3))
		t.leave("received")
	}
}

// progressOfReceive is the same with the receiver computing.
func progressOfReceive(t *T, c *mpi.Comm) {
	if t.Policy == "caller" {
		return
	}
	const n = 1 << 18
	if c.Rank() == 0 {
		buf := make([]int64, n)
		r := mpi.Irecv(c, buf, 1, 0)
		computeUntil(t, "sent")
		_, err := r.Wait()
		t.must(err)
		wantSlice(t, "message", buf, ramp(n, 3))
		return
	}
	if c.Rank() == 1 {
		t.must(mpi.Ssend(c, ramp(n, 3), 0, 0))
		t.leave("sent")
	}
}

// computeUntil keeps the rank busy until a file is there.
func computeUntil(t *T, file string) {
	x := 1.0
	for end := time.Now().Add(failsafe); !t.isThere(file); {
		for range 20000 {
			x = x*1.0000001 + 1e-9
		}
		if time.Now().After(end) {
			t.Fatalf("nothing moved while the rank computed (%g)", x)
		}
	}
}

// tagsSelect: receives by tag in another order than that of sending, the least and the greatest tag
// among them.
func tagsSelect(t *T, c *mpi.Comm) {
	tags := []int{0, 1, 7, 1 << 20, mpi.TagUB}
	var rs []*mpi.Request
	for i, tag := range tags {
		rs = append(rs, mpi.Isend(c, []int{i}, right(c), tag))
	}
	for i := len(tags) - 1; i >= 0; i-- {
		v, st, err := mpi.RecvValue[int](c, left(c), tags[i])
		t.must(err)
		want(t, "value", v, i)
		want(t, "tag", st.Tag, tags[i])
	}
	_, err := mpi.WaitAll(rs...)
	t.must(err)
}
