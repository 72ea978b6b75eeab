package tests

import (
	"encoding/gob"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

// Objects of all sorts, exported fields only, as gob wants them.
type (
	tree struct {
		Name     string
		Children []*tree
	}
	record struct {
		ID    int
		Words []string
		Table map[string]float64
		When  time.Time
		Next  *record
	}
	shape  interface{ area() float64 }
	secret struct{ inner string } // has its own binary form
)

func (s secret) MarshalBinary() ([]byte, error)     { return []byte("v1:" + s.inner), nil }
func (s *secret) UnmarshalBinary(data []byte) error { s.inner = string(data[3:]); return nil }

const serialised = "A T without pointers travels as memory. Any other T is serialised by the same call."

var objectCases = []testCase{
	{name: "object/strings", section: "FitMPI", sentence: serialised, run: objectStrings},
	{name: "object/kinds", section: "FitMPI", sentence: serialised, run: objectKinds},
	{name: "object/count and truncation", section: "FitMPI",
		sentence: "A message of more objects than the buffer holds is an error of class ErrTruncate that names both numbers.",
		run:      objectTruncates},
	{name: "object/mismatch", section: "3.3.1",
		sentence: "The types of the send and receive buffers must match; objects and plain memory are told apart and the error says so.",
		run:      objectMismatch},
	{name: "object/cannot travel", section: "FitMPI",
		sentence: "A type that cannot travel is refused at the first call, with the name of the field.",
		run:      objectRefused},
	{name: "object/buffer is free at once", section: "FitMPI",
		sentence: "Objects are serialised when the send starts: what is changed afterwards does not travel.",
		run:      objectSnapshot},
	{name: "object/probe", section: "3.8.1",
		sentence: "Objects can be probed; their number shows when they are received.",
		run:      objectProbe},
	{name: "object/interfaces", section: "FitMPI",
		sentence: "Values in interfaces travel with their types, which every rank must have registered with gob.",
		run:      objectInterfaces},
	{name: "object/text form", section: "FitMPI",
		sentence: "A type that gob cannot carry travels by its own text form, if it has one.",
		run:      objectText},
	{name: "object/crowd", section: "FitMPI",
		sentence: "Many goroutines may receive objects of unknown size from anybody at once: each gets one whole message, and all are got.",
		run:      objectCrowd},
}

func objectStrings(t *T, c *mpi.Comm) {
	long := make([]byte, 200000)
	for i := range long {
		long[i] = byte('a' + i%26)
	}
	for _, words := range [][]string{{}, {""}, {"a", "", "ü", "\x00"}, {string(long[:5000])}, {string(long), "tail"}} {
		s := mpi.Isend(c, words, right(c), 1)
		in := make([]string, len(words)+1)
		st, err := mpi.Recv(c, in, left(c), 1)
		t.must(err)
		want(t, "count", st.Count, len(words))
		want(t, "GetCount", mpi.GetCount[string](st), len(words))
		wantSlice(t, "strings", in[:len(words)], words)
		again := mpi.Isend(c, words, right(c), 1)
		got, _, err := mpi.RecvNew[string](c, left(c), 1)
		t.must(err)
		wantSlice(t, "strings", got, words)
		_, err = mpi.WaitAll(s, again)
		t.must(err)
	}
}

func objectKinds(t *T, c *mpi.Comm) {
	when := time.Date(2026, 2, 3, 4, 5, 6, 7, time.UTC)
	roundTrip(t, c, []map[string]int{{"a": 1, "b": 2}, nil, {}})
	roundTrip(t, c, []time.Time{when, {}})
	roundTrip(t, c, []secret{{"one"}, {""}})
	roundTrip(t, c, []*secret{{"one"}, nil})
	roundTrip(t, c, [][]byte{{1, 2}, nil, {}})
	roundTrip(t, c, []*big.Int{big.NewInt(-5), new(big.Int).Lsh(big.NewInt(1), 300)})
	roundTrip(t, c, []tree{{Name: "root", Children: []*tree{{Name: "leaf"}, {Name: "branch", Children: []*tree{{Name: "twig"}}}}}})
	roundTrip(t, c, []*int{new(3), nil, new(0)})
	roundTrip(t, c, []record{
		{ID: 1, Words: []string{"x"}, Table: map[string]float64{"pi": 3.14}, When: when, Next: &record{ID: 2}}, {},
	})
	t.together(
		func() { t.must(mpi.SendValue(c, map[int]string{1: "one"}, right(c), 2)) },
		func() {
			v, _, err := mpi.RecvValue[map[int]string](c, left(c), 2)
			t.must(err)
			want(t, "the map is equal", maps.Equal(v, map[int]string{1: "one"}), true)
		})
}

// roundTrip sends vs around the ring by Send and Recv and by RecvNew.
func roundTrip[V any](t *T, c *mpi.Comm, vs []V) {
	s := mpi.Isend(c, vs, right(c), 1)
	in := make([]V, len(vs))
	st, err := mpi.Recv(c, in, left(c), 1)
	t.must(err)
	want(t, "count", st.Count, len(vs))
	again := mpi.Issend(c, vs, right(c), 1)
	got, _, err := mpi.RecvNew[V](c, left(c), 1)
	t.must(err)
	for _, came := range [][]V{in, got} {
		if !equalObjects(came, vs) {
			t.Errorf("%T: %v came, %v was sent", vs, came, vs)
		}
	}
	_, err = mpi.WaitAll(s, again)
	t.must(err)
}

// equalObjects is DeepEqual, but gob makes empty maps of nil ones.
func equalObjects(a, b any) bool {
	if x, ok := a.([]map[string]int); ok {
		y := b.([]map[string]int)
		for i := range x {
			if !maps.Equal(x[i], y[i]) {
				return false
			}
		}
		return len(x) == len(y)
	}
	return reflect.DeepEqual(a, b)
}

func objectTruncates(t *T, c *mpi.Comm) {
	s := mpi.Isend(c, []string{"a", "b", "c"}, right(c), 1)
	in := []string{"old"}
	_, err := mpi.Recv(c, in, left(c), 1)
	wantError(t, "Recv", err, mpi.ErrTruncate, "3 elements arrived, the buffer holds 1")
	want(t, "the buffer", in[0], "old")
	n := mpi.Isend(c, []string{"d"}, right(c), 1)
	st, err := mpi.Recv(c, in, left(c), 1)
	t.must(err)
	want(t, "count", st.Count, 1)
	want(t, "the next message", in[0], "d")
	two := mpi.Isend(c, []string{"d", "e"}, right(c), 1)
	_, _, err = mpi.RecvValue[string](c, left(c), 1)
	wantError(t, "RecvValue of two", err, mpi.ErrTruncate)
	none := mpi.Isend(c, []string{}, right(c), 1)
	_, _, err = mpi.RecvValue[string](c, left(c), 1)
	wantError(t, "RecvValue of none", err, mpi.ErrCount)
	_, err = mpi.WaitAll(s, n, two, none)
	t.must(err)
}

func objectMismatch(t *T, c *mpi.Comm) {
	for _, posted := range []bool{false, true} {
		meet := func() {
			if posted {
				t.must(mpi.Barrier(c))
			}
		}
		r := mpi.Irecv(c, make([]int64, 100), left(c), 1)
		meet()
		s := mpi.Isend(c, []string{"objects"}, right(c), 1)
		_, err := r.Wait()
		wantError(t, "objects into memory", err, mpi.ErrType, "serialised objects", "int64")
		r2 := mpi.Irecv(c, make([]string, 1), left(c), 1)
		meet()
		s2 := mpi.Isend(c, []int64{1, 2}, right(c), 1)
		_, err = r2.Wait()
		wantError(t, "memory into objects", err, mpi.ErrType, "plain memory", "string")
		_, err = mpi.WaitAll(s, s2)
		t.must(err)
	}
	s := mpi.Isend(c, []string{"objects"}, right(c), 1)
	_, _, err := mpi.RecvNew[int64](c, left(c), 1)
	wantError(t, "objects by RecvNew", err, mpi.ErrType, "serialised objects")
	s2 := mpi.Isend(c, []int64{1, 2}, right(c), 1)
	_, _, err = mpi.RecvNew[string](c, left(c), 1)
	wantError(t, "memory by RecvNew", err, mpi.ErrType, "plain memory")
	s3 := mpi.Isend(c, []map[string]int{{"a": 1}}, right(c), 1)
	_, _, err = mpi.RecvNew[string](c, left(c), 1)
	wantError(t, "other objects", err, mpi.ErrType, "serialised in another way")
	s4 := mpi.Isend(c, []map[string]int{{"a": 1}}, right(c), 1)
	_, _, err = mpi.RecvNew[map[int]string](c, left(c), 1)
	wantError(t, "another map", err, mpi.ErrType)
	_, err = mpi.WaitAll(s, s2, s3, s4)
	t.must(err)
}

type withFunc struct {
	Name string
	Hook func()
}

func objectRefused(t *T, c *mpi.Comm) {
	bad := []withFunc{{Name: "x"}}
	wantError(t, "Send", mpi.Send(c, bad, right(c), 1), mpi.ErrType, "field Hook", "func()")
	_, err := mpi.Recv(c, bad, left(c), 1)
	wantError(t, "Recv", err, mpi.ErrType, "field Hook")
	_, err = mpi.Isend(c, bad, right(c), 1).Wait()
	wantError(t, "Isend", err, mpi.ErrType, "field Hook")
	_, err = mpi.IrecvNew[withFunc](c, left(c), 1).Wait()
	wantError(t, "IrecvNew", err, mpi.ErrType, "field Hook")
	_, err = mpi.SendInit(c, bad, left(c), 1).Wait()
	wantError(t, "SendInit", err, mpi.ErrType, "field Hook")
	wantError(t, "Bcast", mpi.Bcast(c, bad, 0), mpi.ErrType, "field Hook")
	wantError(t, "an unregistered interface", mpi.Send(c, []shape{unregistered{}}, right(c), 1), mpi.ErrType)
}

type unregistered struct{ Side float64 }

func (u unregistered) area() float64 { return u.Side * u.Side }

func objectSnapshot(t *T, c *mpi.Comm) {
	m := []map[string]int{{"a": 1}}
	s := mpi.Isend(c, m, right(c), 1)
	m[0]["a"] = 2
	in := make([]map[string]int, 1)
	_, err := mpi.Recv(c, in, left(c), 1)
	t.must(err)
	want(t, "the value", in[0]["a"], 1)
	_, err = s.Wait()
	t.must(err)
}

func objectProbe(t *T, c *mpi.Comm) {
	s := mpi.Isend(c, []string{"a", "b"}, right(c), 1)
	msg, st, err := mpi.Mprobe(c, left(c), 1)
	t.must(err)
	want(t, "GetCount", mpi.GetCount[string](st), mpi.Undefined)
	got, st, err := mpi.MrecvNew[string](msg)
	t.must(err)
	want(t, "count", st.Count, 2)
	wantSlice(t, "strings", got, []string{"a", "b"})
	_, err = s.Wait()
	t.must(err)
}

type (
	square struct{ Side float64 }
	circle struct{ Radius float64 }
)

func (s square) area() float64  { return s.Side * s.Side }
func (c *circle) area() float64 { return 3 * c.Radius * c.Radius }

func init() {
	gob.Register(square{})
	gob.Register(&circle{})
}

func objectInterfaces(t *T, c *mpi.Comm) {
	roundTrip(t, c, []shape{square{2}, &circle{1}, nil, square{3}})
	roundTrip(t, c, []any{"text", 7, square{1}, nil})
	roundTrip(t, c, []map[string]shape{{"one": &circle{2}}, {}})
	roundTrip(t, c, [][]shape{{square{1}, &circle{2}}, {nil}})
	roundTrip(t, c, []struct {
		Name  string
		Shape shape
	}{{"a", square{4}}, {"b", nil}})
	for _, err := range []error{
		mpi.Send(c, []shape{square{1}, unregistered{2}}, right(c), 1),
		mpi.SendValue(c, []any{unregistered{2}}, right(c), 1),
		mpi.Send(c, []map[string]any{{"a": unregistered{2}}}, right(c), 1),
	} {
		wantError(t, "an unregistered type", err, mpi.ErrType, "tests.unregistered", "every rank", "gob.Register")
	}
}

func objectText(t *T, c *mpi.Comm) {
	words := []*regexp.Regexp{regexp.MustCompile("^a+b?$"), nil, regexp.MustCompile("")}
	s := mpi.Isend(c, words, right(c), 1)
	got, _, err := mpi.RecvNew[*regexp.Regexp](c, left(c), 1)
	t.must(err)
	want(t, "count", len(got), 3)
	want(t, "the first", got[0].String(), "^a+b?$")
	want(t, "the second is nil", got[1] == nil, true)
	want(t, "the third", got[2].String(), "")
	_, err = s.Wait()
	t.must(err)
	inside := []struct{ Pattern *regexp.Regexp }{{words[0]}}
	wantError(t, "inside a struct", mpi.Send(c, inside, right(c), 1), mpi.ErrType, "field Pattern", "regexp.Regexp", "MarshalBinary")
	bad := mpi.Isend(c, []string{"a("}, right(c), 1)
	_, _, err = mpi.RecvNew[*regexp.Regexp](c, left(c), 1)
	wantError(t, "of another form", err, mpi.ErrType, "regexp.Regexp", "another way")
	_, err = bad.Wait()
	t.must(err)
}

// parcel is an object that tells whose it is and what must be in it.
type parcel struct {
	From, Tag, Number int
	Body              []string
}

// newParcels is a message of one to three parcels of many sizes, all of one sender and number.
func newParcels(from, tag, number int) []parcel {
	ps := make([]parcel, 1+number%3)
	for i := range ps {
		body := make([]string, number%7)
		for k := range body {
			body[k] = strings.Repeat(fmt.Sprint(from, tag, number, i, k, "."), 1+number*number*(k+1)%(1+3000*(number%2)))
		}
		ps[i] = parcel{from, tag, number, body}
	}
	return ps
}

// objectCrowd: senders goroutines of each rank send to every rank, receivers of each take what
// comes, by every call that receives what it does not know the size of.
func objectCrowd(t *T, c *mpi.Comm) {
	const senders, receivers, each = 3, 6, 14
	var (
		tickets atomic.Int64 // messages still to be received here
		mu      sync.Mutex
		seen    = map[[3]int]int{} // by sender, tag, number
	)
	tickets.Store(int64(c.Size() * senders * each))
	fs := make([]func(), 0, senders+receivers)
	for g := range senders {
		fs = append(fs, func() {
			var rs []*mpi.Request
			for number := range each {
				for to := range c.Size() {
					rs = append(rs, mpi.Isend(c, newParcels(c.Rank(), g, number), to, g))
				}
			}
			_, err := mpi.WaitAll(rs...)
			t.must(err)
		})
	}
	for g := range receivers {
		fs = append(fs, func() {
			for k := 0; tickets.Add(-1) >= 0; k++ {
				ps, st, err := receiveParcels(c, g+k)
				t.must(err)
				if len(ps) == 0 || st.Count != len(ps) {
					t.Fatalf("%d parcels, status %+v", len(ps), st)
				}
				first := ps[0]
				want(t, "source", st.Source, first.From)
				want(t, "tag", st.Tag, first.Tag)
				if whole := newParcels(first.From, first.Tag, first.Number); !reflect.DeepEqual(normal(ps), normal(whole)) {
					t.Errorf("message %d of rank %d with tag %d is not what was sent", first.Number, first.From, first.Tag)
				}
				mu.Lock()
				seen[[3]int{first.From, first.Tag, first.Number}]++
				mu.Unlock()
			}
		})
	}
	t.together(fs...)
	for from := range c.Size() {
		for tag := range senders {
			for number := range each {
				want(t, fmt.Sprintf("receipts of message %d of rank %d with tag %d", number, from, tag), seen[[3]int{from, tag, number}], 1)
			}
		}
	}
}

// receiveParcels receives a message from any rank by one of the ways.
func receiveParcels(c *mpi.Comm, way int) ([]parcel, mpi.Status, error) {
	switch way % 3 {
	case 0:
		return mpi.RecvNew[parcel](c, mpi.AnySource, mpi.AnyTag)
	case 1:
		r := mpi.IrecvNew[parcel](c, mpi.AnySource, mpi.AnyTag)
		st, err := r.Wait()
		return r.Data(), st, err
	default:
		msg, _, err := mpi.Mprobe(c, mpi.AnySource, mpi.AnyTag)
		if err != nil {
			return nil, mpi.Status{}, err
		}
		return mpi.MrecvNew[parcel](msg)
	}
}

// normal makes empty bodies nil, as gob does.
func normal(ps []parcel) []parcel {
	for i := range ps {
		if len(ps[i].Body) == 0 {
			ps[i].Body = nil
		}
	}
	return ps
}
