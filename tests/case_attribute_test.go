package tests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

var attributeCases = []testCase{
	{name: "attribute/set and get", section: "7.7.2",
		sentence: "A value is cached on a communicator under a key, and read back; a key without a value gives none.",
		run:      attributeSetGet},
	{name: "attribute/keys and communicators are apart", section: "7.7.2",
		sentence: "A key can be used to associate attributes with any locally defined communicator.",
		run:      attributeApart},
	{name: "attribute/any type", section: "FitMPI",
		sentence: "A value may be of any type, interfaces and their nil included; it is not copied.",
		run:      attributeTypes},
	{name: "attribute/delete", section: "7.7.2",
		sentence: "Deleting an attribute calls its delete function with the value, once; deleting what is not there is an error.",
		run:      attributeDelete},
	{name: "attribute/overwrite", section: "7.7.2",
		sentence: "Setting a value where there is one deletes that one first, with its delete function.",
		run:      attributeOverwrite},
	{name: "attribute/free", section: "7.4.3",
		sentence: "Freeing a communicator calls the delete functions of all its attributes; here the newest first.",
		run:      attributeFree},
	{name: "attribute/delete fails", section: "7.7.2",
		sentence: "If a delete function fails, so does the call that caused it, and the value stays.",
		run:      attributeDeleteFails},
	{name: "attribute/copy", section: "7.7.2",
		sentence: "Dup calls the copy function of each attribute; the duplicate gets what it says, if it says so. Without a copy function it gets nothing.",
		run:      attributeCopy},
	{name: "attribute/copy fails", section: "7.7.2",
		sentence: "If a copy function fails, so does Dup; what was copied by then is deleted again.",
		run:      attributeCopyFails},
	{name: "attribute/split copies nothing", section: "7.4.2",
		sentence: "Cached information is not propagated to a communicator that Split makes.",
		run:      attributeSplit},
	{name: "attribute/free the key", section: "7.7.2",
		sentence: "It is not erroneous to free a key that is in use: the values stay until they are deleted.",
		run:      attributeFreeKey},
	{name: "attribute/callbacks use the communicator", section: "7.7.2",
		sentence: "A delete function may communicate, and may use the attributes of its communicator.",
		run:      attributeReenter},
	{name: "attribute/goroutines", section: "11.6",
		sentence: "Goroutines may use the attributes of a communicator side by side: each value that is set is deleted once.",
		run:      attributeGoroutines},
	{name: "attribute/misuse", section: "7.7.2",
		sentence: "A key that was freed, a nil key and a communicator that was freed are errors that say so.",
		run:      attributeMisuse},
	{name: "attribute/predefined", section: "9.1.2",
		sentence: "The environment is told by predefined attributes: host, input and output, clock, universe, program.",
		world:    true, run: attributePredefined},
}

// journal is what callbacks wrote, in order.
type journal []string

func (j *journal) add(format string, args ...any) { *j = append(*j, fmt.Sprintf(format, args...)) }

// wantJournal compares and empties.
func (t *T) wantJournal(what string, j *journal, want ...string) {
	if !slices.Equal(*j, want) {
		t.Errorf("%s: the callbacks wrote %q, want %q", what, *j, want)
	}
	*j = nil
}

// noted makes a key whose copies and deletions j lists.
func noted(j *journal, name string) *mpi.Keyval[int] {
	return mpi.KeyvalCreate(
		func(_ *mpi.Comm, v int) (int, bool, error) {
			j.add("copy %s=%d", name, v)
			return v + 1, true, nil
		},
		func(_ *mpi.Comm, v int) error {
			j.add("delete %s=%d", name, v)
			return nil
		})
}

// dupOf is a duplicate of c for a case to spoil.
func dupOf(t *T, c *mpi.Comm) *mpi.Comm {
	d, err := c.Dup(nil)
	t.must(err)
	return d
}

func wantAttribute[V comparable](t *T, what string, k *mpi.Keyval[V], c *mpi.Comm, v V, ok bool) {
	got, found := k.Get(c)
	if got != v || found != ok {
		t.Errorf("%s: the attribute is %v, %v, want %v, %v", what, got, found, v, ok)
	}
}

func attributeSetGet(t *T, c *mpi.Comm) {
	k := mpi.KeyvalCreate[string](nil, nil)
	wantAttribute(t, "before", k, c, "", false)
	t.must(k.Set(c, "a"))
	wantAttribute(t, "set", k, c, "a", true)
	wantAttribute(t, "through another value of the communicator", k, c.WithContext(context.Background()), "a", true)
	t.must(k.Set(c, ""))
	wantAttribute(t, "the zero value", k, c, "", true)
	t.must(k.Delete(c))
	wantAttribute(t, "deleted", k, c, "", false)
}

func attributeApart(t *T, c *mpi.Comm) {
	k, l := mpi.KeyvalCreate[int](nil, nil), mpi.KeyvalCreate[int](nil, nil)
	d := dupOf(t, c)
	t.must(k.Set(c, 1))
	t.must(l.Set(c, 2))
	t.must(k.Set(d, 3))
	wantAttribute(t, "k of c", k, c, 1, true)
	wantAttribute(t, "l of c", l, c, 2, true)
	wantAttribute(t, "k of d", k, d, 3, true)
	wantAttribute(t, "l of d", l, d, 0, false)
	t.must(k.Delete(c))
	t.must(l.Delete(c))
	wantAttribute(t, "k of d after that of c was deleted", k, d, 3, true)
	t.must(d.Free())
	wantAttribute(t, "of a freed communicator", k, d, 0, false)
	wantAttribute(t, "of no communicator", k, nil, 0, false)
}

func attributeTypes(t *T, c *mpi.Comm) {
	d := dupOf(t, c)
	shared := map[string]int{"a": 1}
	m := mpi.KeyvalCreate[map[string]int](mpi.CopyAttribute, nil)
	t.must(m.Set(d, shared))
	n := dupOf(t, d)
	shared["a"] = 2
	got, ok := m.Get(n)
	want(t, "the map of the duplicate", ok && got["a"] == 2, true)
	deleted := 0
	e := mpi.KeyvalCreate(mpi.CopyAttribute[error], func(_ *mpi.Comm, err error) error {
		want(t, "the nil error", err, nil)
		deleted++
		return nil
	})
	t.must(e.Set(d, nil))
	wantAttribute(t, "a nil interface", e, d, nil, true)
	p := dupOf(t, d)
	wantAttribute(t, "its copy", e, p, nil, true)
	for _, x := range []*mpi.Comm{d, n, p} {
		t.must(x.Free())
	}
	want(t, "deletions", deleted, 2)
}

func attributeDelete(t *T, c *mpi.Comm) {
	var j journal
	k := noted(&j, "k")
	t.must(k.Set(c, 7))
	t.wantJournal("set", &j)
	t.must(k.Delete(c))
	t.wantJournal("deleted", &j, "delete k=7")
	err := k.Delete(c)
	wantError(t, "deleting nothing", err, mpi.ErrKeyval)
	want(t, "the cause", cause(err), "the communicator has no value under this key")
	t.wantJournal("nothing deleted", &j)
}

func attributeOverwrite(t *T, c *mpi.Comm) {
	var j journal
	k, l := noted(&j, "k"), noted(&j, "l")
	d := dupOf(t, c)
	t.must(k.Set(d, 1))
	t.must(l.Set(d, 1))
	t.must(k.Set(d, 2))
	t.wantJournal("overwritten", &j, "delete k=1")
	wantAttribute(t, "overwritten", k, d, 2, true)
	t.must(d.Free())
	t.wantJournal("freed: a value is as old as its setting", &j, "delete k=2", "delete l=1")
}

func attributeFree(t *T, c *mpi.Comm) {
	var j journal
	d := dupOf(t, c)
	for _, name := range []string{"a", "b", "c"} {
		t.must(noted(&j, name).Set(d, 1))
	}
	t.must(mpi.KeyvalCreate[int](nil, nil).Set(d, 1), "an attribute without functions")
	t.must(d.Free())
	t.wantJournal("freed", &j, "delete c=1", "delete b=1", "delete a=1")
	wantError(t, "freed twice", d.Free(), mpi.ErrComm)
	t.wantJournal("and not again", &j)
}

func attributeDeleteFails(t *T, c *mpi.Comm) {
	var j journal
	broken := errors.New("broken")
	fails := true
	k := mpi.KeyvalCreate(nil, func(_ *mpi.Comm, v int) error {
		if fails {
			return broken
		}
		j.add("delete k=%d", v)
		return nil
	})
	first, last := noted(&j, "first"), noted(&j, "last")
	d := dupOf(t, c)
	t.must(first.Set(d, 1))
	t.must(k.Set(d, 1))
	t.must(last.Set(d, 1))
	for what, err := range map[string]error{"Set": k.Set(d, 2), "Delete": k.Delete(d)} {
		wantError(t, what, err, mpi.ErrOther, "broken", what)
		want(t, what+" gives the function's error", errors.Is(err, broken), true)
		wantAttribute(t, what, k, d, 1, true)
	}
	err := d.Free()
	wantError(t, "Free", err, mpi.ErrOther, "deleting an attribute: broken")
	want(t, "Free gives the function's error", errors.Is(err, broken), true)
	t.wantJournal("a failed Free", &j, "delete last=1")
	t.must(mpi.Barrier(d), "the communicator works after a failed Free")
	wantAttribute(t, "what failed", k, d, 1, true)
	wantAttribute(t, "what was not reached", first, d, 1, true)
	fails = false
	t.must(d.Free())
	t.wantJournal("freed", &j, "delete k=1", "delete first=1")
}

func attributeCopy(t *T, c *mpi.Comm) {
	var j journal
	d := dupOf(t, c)
	k, l := noted(&j, "k"), noted(&j, "l")
	none := mpi.KeyvalCreate[int](nil, nil)
	same := mpi.KeyvalCreate[int](mpi.CopyAttribute, nil)
	not := mpi.KeyvalCreate(func(old *mpi.Comm, v int) (int, bool, error) {
		want(t, "copied from", old.Name(), d.Name())
		j.add("not %d", v)
		return 99, false, nil
	}, nil)
	t.must(l.Set(d, 20))
	for i, x := range []*mpi.Keyval[int]{k, none, same, not} {
		t.must(x.Set(d, 10*(i+1)))
	}
	e := dupOf(t, d)
	t.wantJournal("copied in the order of setting", &j, "copy l=20", "copy k=10", "not 40")
	wantAttribute(t, "k", k, e, 11, true)
	wantAttribute(t, "l", l, e, 21, true)
	wantAttribute(t, "no copy function", none, e, 0, false)
	wantAttribute(t, "CopyAttribute", same, e, 30, true)
	wantAttribute(t, "a copy function that says no", not, e, 0, false)
	t.must(d.Free())
	t.wantJournal("freed", &j, "delete k=10", "delete l=20")
	wantAttribute(t, "the duplicate's own", k, e, 11, true)
	t.must(e.Free())
	t.wantJournal("the duplicate freed", &j, "delete k=11", "delete l=21")
}

func attributeCopyFails(t *T, c *mpi.Comm) {
	var j journal
	broken := errors.New("broken")
	d := dupOf(t, c)
	first, last := noted(&j, "first"), noted(&j, "last")
	bad := mpi.KeyvalCreate(func(*mpi.Comm, int) (int, bool, error) { return 0, true, broken }, nil)
	t.must(first.Set(d, 1))
	t.must(bad.Set(d, 1))
	t.must(last.Set(d, 1))
	_, err := d.Dup(nil)
	wantError(t, "Dup", err, mpi.ErrOther, "Dup", "copying an attribute: broken")
	want(t, "Dup gives the function's error", errors.Is(err, broken), true)
	t.wantJournal("what was copied is deleted", &j, "copy first=1", "delete first=2")
	wantAttribute(t, "the original", first, d, 1, true)
	t.must(bad.Delete(d))
	t.must(dupOf(t, d).Free())
	j = nil
	t.must(d.Free())
}

func attributeSplit(t *T, c *mpi.Comm) {
	var j journal
	k := noted(&j, "k")
	d := dupOf(t, c)
	t.must(k.Set(d, 1))
	s, err := d.Split(0, d.Rank())
	t.must(err)
	t.wantJournal("split", &j)
	wantAttribute(t, "of the new communicator", k, s, 0, false)
	t.must(s.Free())
	t.must(d.Free())
	t.wantJournal("freed", &j, "delete k=1")
}

func attributeFreeKey(t *T, c *mpi.Comm) {
	var j journal
	k := noted(&j, "k")
	d := dupOf(t, c)
	t.must(k.Set(d, 1))
	k.Free()
	k.Free()
	t.wantJournal("the key is freed", &j)
	wantAttribute(t, "in use", k, d, 1, true)
	err := k.Set(d, 2)
	wantError(t, "Set", err, mpi.ErrKeyval)
	want(t, "the cause", cause(err), "the key was freed: it takes no new values")
	e := dupOf(t, d)
	wantAttribute(t, "copied still", k, e, 2, true)
	t.must(k.Delete(e))
	t.must(d.Free())
	t.must(e.Free())
	t.wantJournal("all is deleted", &j, "copy k=1", "delete k=2", "delete k=1")
}

func attributeReenter(t *T, c *mpi.Comm) {
	var j journal
	other := noted(&j, "other")
	sum := []int{0}
	var k *mpi.Keyval[int]
	k = mpi.KeyvalCreate(nil, func(at *mpi.Comm, v int) error {
		wantAttribute(t, "its own value is gone", k, at, 0, false)
		wantAttribute(t, "the other's is there", other, at, 5, true)
		if err := other.Delete(at); err != nil {
			return err
		}
		return mpi.Allreduce(at, []int{v}, sum, mpi.Sum)
	})
	d := dupOf(t, c)
	t.must(other.Set(d, 5))
	t.must(k.Set(d, 2))
	t.must(d.Free())
	want(t, "the sum", sum[0], 2*c.Size())
	t.wantJournal("deleted", &j, "delete other=5")
}

func attributeGoroutines(t *T, c *mpi.Comm) {
	const n, rounds = 4, 50
	deleted := make(chan int, n*rounds)
	k := mpi.KeyvalCreate(nil, func(_ *mpi.Comm, v int) error {
		deleted <- v
		return nil
	})
	t.each(n, func(g int) {
		for i := range rounds {
			t.must(k.Set(c, g*rounds+i))
			k.Get(c)
		}
	})
	t.must(k.Delete(c))
	close(deleted)
	seen := make([]int, n*rounds)
	for v := range deleted {
		seen[v]++
	}
	for v, times := range seen {
		want(t, fmt.Sprintf("deletions of %d", v), times, 1)
	}
}

func attributeMisuse(t *T, c *mpi.Comm) {
	var none *mpi.Keyval[int]
	for what, err := range map[string]error{"Set": none.Set(c, 1), "Delete": none.Delete(c), "zero": new(mpi.Keyval[int]).Set(c, 1)} {
		wantError(t, what, err, mpi.ErrKeyval)
		want(t, what, cause(err), "the key is nil: make one with KeyvalCreate")
	}
	wantAttribute(t, "a nil key", none, c, 0, false)
	none.Free()
	k := mpi.KeyvalCreate[int](nil, nil)
	d := dupOf(t, c)
	t.must(d.Free())
	for what, err := range map[string]error{"Set": k.Set(d, 1), "Delete": k.Delete(d)} {
		wantError(t, what, err, mpi.ErrComm)
		want(t, what, cause(err), "the communicator was freed")
	}
	wantError(t, "no communicator", k.Set(nil, 1), mpi.ErrComm)
}

func attributePredefined(t *T, c *mpi.Comm) {
	want(t, "the host rank", c.HostRank(), mpi.ProcNull)
	want(t, "the rank with input and output", c.IORank(), mpi.AnySource)
	n, ok := c.UniverseSize()
	app, started := c.AppNum()
	want(t, "the program's number", app, 0)
	want(t, "there is a launcher", started, t.Processes)
	if !t.Other { // fitrun knows; others may say nothing
		want(t, "the universe is known", ok, t.Processes)
	}
	if ok && n < c.Size() {
		t.Errorf("a universe of %d for a job of %d", n, c.Size())
	}
	if !t.Processes {
		want(t, "one clock for all", c.WtimeIsGlobal(), true)
	}
	if major, minor := mpi.Version(); major != 4 || minor != 1 {
		t.Errorf("version %d.%d", major, minor)
	}
	if v := mpi.LibraryVersion(); !strings.HasPrefix(v, "FitMPI ") {
		t.Errorf("library version %q", v)
	}
	want(t, "thread level", mpi.QueryThread(), mpi.ThreadMultiple)
	want(t, "this is the main goroutine", c.IsThreadMain(), true)
	t.together(func() { want(t, "another is", c.IsThreadMain(), false) })
}
