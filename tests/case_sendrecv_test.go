package tests

import "github.com/fitmpi/fitmpi/mpi"

const shift = "The send-receive operations combine in one operation the sending of a message to one destination and the receiving " +
	"of another message, from another process."

var sendrecvCases = []testCase{
	{name: "sendrecv/ring", section: "3.2.7", sentence: shift, run: func(t *T, c *mpi.Comm) {
		for k, n := range []int{0, 1, 4000, 40000, 300000} {
			in := make([]int64, n)
			st, err := mpi.Sendrecv(c, ramp(n, k+c.Rank()), right(c), 1, in, left(c), mpi.AnyTag)
			t.must(err)
			want(t, "source", st.Source, left(c))
			want(t, "tag", st.Tag, 1)
			want(t, "count", st.Count, n)
			wantSlice(t, "message", in, ramp(n, k+left(c)))
		}
	}},
	{name: "sendrecv/two types", section: "3.2.7",
		sentence: "The send buffer and receive buffers must be disjoint, and may have different lengths and datatypes.",
		run: func(t *T, c *mpi.Comm) {
			var out any = []float64{1.5, 2.5}
			in := make([]string, 3)
			if c.Rank()%2 == 1 || c.Size() == 1 { // alone: to itself, so one type
				got := make([]float64, 2)
				_, err := mpi.Sendrecv(c, out.([]float64), c.Rank(), 1, got, c.Rank(), 1)
				t.must(err)
				wantSlice(t, "message", got, []float64{1.5, 2.5})
				return
			}
			r := mpi.Isend(c, []string{"a", "b"}, c.Rank(), 2)
			got := mpi.IrecvNew[float64](c, c.Rank(), 1)
			st, err := mpi.Sendrecv(c, out.([]float64), c.Rank(), 1, in, c.Rank(), 2)
			t.must(err)
			want(t, "count", st.Count, 2)
			wantSlice(t, "strings", in, []string{"a", "b", ""})
			_, err = mpi.WaitAll(r, got.Request)
			t.must(err)
			wantSlice(t, "numbers", got.Data(), []float64{1.5, 2.5})
		}},
	{name: "sendrecv/meets plain calls", section: "3.2.7",
		sentence: "A message sent by a send-receive operation can be received by a regular receive operation; a send-receive operation " +
			"can receive a message sent by a regular send operation.",
		run: func(t *T, c *mpi.Comm) {
			in, got := make([]int64, 9000), make([]int64, 9000)
			r, s := mpi.Irecv(c, got, left(c), 1), mpi.Isend(c, ramp(9000, 2), right(c), 2)
			_, err := mpi.Sendrecv(c, ramp(9000, 1), right(c), 1, in, left(c), 2)
			t.must(err)
			_, err = mpi.WaitAll(r, s)
			t.must(err)
			wantSlice(t, "received by Irecv", got, ramp(9000, 1))
			wantSlice(t, "sent by Isend", in, ramp(9000, 2))
		}},
	{name: "sendrecv/replace", section: "3.2.7",
		sentence: "The same buffer is used both for the send and for the receive, so that the message sent is replaced by the message received.",
		run: func(t *T, c *mpi.Comm) {
			for k, n := range []int{1, 4000, 100000} {
				b := ramp(n, k+c.Rank())
				st, err := mpi.SendrecvReplace(c, b, right(c), 1, left(c), 1)
				t.must(err)
				want(t, "count", st.Count, n)
				wantSlice(t, "message", b, ramp(n, k+left(c)))
				_, err = mpi.IsendrecvReplace(c, b, left(c), 1, right(c), 1).Wait()
				t.must(err)
				wantSlice(t, "back", b, ramp(n, k+c.Rank()))
			}
			s := []string{"from", string(rune('a' + c.Rank()))}
			_, err := mpi.SendrecvReplace(c, s, right(c), 1, left(c), 1)
			t.must(err)
			wantSlice(t, "strings", s, []string{"from", string(rune('a' + left(c)))})
		}},
	{name: "sendrecv/nonblocking", section: "3.7.7",
		sentence: "MPI_ISENDRECV starts a nonblocking communication request for a send and receive operation.",
		run: func(t *T, c *mpi.Comm) {
			const n = 12
			var rs []*mpi.Request
			in := make([][]int64, n)
			for k := range n {
				in[k] = make([]int64, mixed(k))
				rs = append(rs, mpi.Isendrecv(c, ramp(mixed(k), k), right(c), k, in[k], left(c), k))
			}
			for len(rs) > 0 {
				i, st, err := mpi.WaitAny(rs...)
				t.must(err)
				wantSlice(t, "message", in[st.Tag], ramp(mixed(st.Tag), st.Tag))
				rs = append(rs[:i], rs[i+1:]...)
			}
		}},
	{name: "sendrecv/truncation", section: "3.2.7",
		sentence: "An overflow error of the receive part is an error of the operation; the send part completes.",
		run: func(t *T, c *mpi.Comm) {
			got := mpi.IrecvNew[int64](c, left(c), 1)
			s := mpi.Isend(c, ramp(10000, 2), right(c), 2)
			_, err := mpi.Sendrecv(c, ramp(10000, 1), right(c), 1, make([]int64, 3), left(c), 2)
			wantError(t, "Sendrecv", err, mpi.ErrTruncate, "10000 elements", "holds 3")
			_, err = mpi.WaitAll(got.Request, s)
			t.must(err)
			wantSlice(t, "sent", got.Data(), ramp(10000, 1))
		}},
}
