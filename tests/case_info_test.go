package tests

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

var infoCases = []testCase{
	{name: "info/set and get", section: "10", max: 1,
		sentence: "MPI_INFO_SET adds the (key,value) pair to info, and overrides the value if a value for the same key was previously set.",
		run:      infoSet},
	{name: "info/keys", section: "10", max: 1,
		sentence: "Keys are numbered 0 ... N-1 where N is the value returned by MPI_INFO_GET_NKEYS. All keys between 0 and N-1 are guaranteed " +
			"to be defined. The number of a given key does not change as long as info is not modified with MPI_INFO_SET or MPI_INFO_DELETE.",
		run: infoKeys},
	{name: "info/dup", section: "10", max: 1,
		sentence: "MPI_INFO_DUP duplicates an existing info object, creating a new object, with the same (key,value) pairs and the same ordering " +
			"of keys.",
		run: infoDup},
	{name: "info/errors", section: "10", max: 1,
		sentence: "If either key or value are larger than the allowed maximums, MPI_ERR_INFO_KEY or MPI_ERR_INFO_VALUE are raised, respectively. " +
			"If key is not defined in info, MPI_INFO_DELETE raises an error of class MPI_ERR_INFO_NOKEY.",
		run: infoErrors},
	{name: "info/several goroutines", section: "FitMPI", max: 1,
		sentence: "An info may be used by several goroutines at once.",
		run:      infoShared},
	{name: "info/environment", section: "11.2.1",
		sentence: "MPI_INFO_ENV contains the information that was given to start the program: command, argv, maxprocs, soft, host, arch, wdir, " +
			"thread_level.",
		run: infoEnv},
	{name: "info/hints of a communicator", section: "7.4.4",
		sentence: "An MPI implementation is required to return all hints that are supported by the implementation and have default values " +
			"specified; any user-supplied hints that were not ignored by the implementation; and any additional hints.",
		run: commHints},
	{name: "info/hints of copies", section: "7.4.2",
		sentence: "MPI_COMM_DUP does not propagate info hints; MPI_COMM_DUP_WITH_INFO gives the new communicator those of info.",
		run:      hintsOfCopies},
}

// wantValue says whether key has the value in info; "-" says that it has none.
func wantValue(t *T, info *mpi.Info, key, value string) {
	got, ok := info.Get(key)
	want(t, key+" is there", ok, value != "-")
	if ok {
		want(t, key, got, value)
	}
}

func infoSet(t *T, _ *mpi.Comm) {
	for _, info := range []*mpi.Info{mpi.InfoCreate(), new(mpi.Info)} {
		wantValue(t, info, "a", "-")
		t.must(info.Set("a", "1"))
		t.must(info.Set("A", "2"))
		t.must(info.Set("empty", ""))
		wantValue(t, info, "a", "1")
		wantValue(t, info, "A", "2")
		wantValue(t, info, "empty", "")
		wantValue(t, info, "b", "-")
		t.must(info.Set("a", "3"))
		wantValue(t, info, "a", "3")
		want(t, "NKeys", info.NKeys(), 3)
		t.must(info.Delete("a"))
		wantValue(t, info, "a", "-")
		wantValue(t, info, "A", "2")
		want(t, "NKeys", info.NKeys(), 2)
	}
}

func infoKeys(t *T, _ *mpi.Comm) {
	info := mpi.InfoCreate()
	names := []string{"zebra", "ape", "mule"}
	for k, name := range names {
		t.must(info.Set(name, fmt.Sprint(k)))
	}
	t.must(info.Set("ape", "again")) // keeps its number
	for range 2 {
		for k, name := range names {
			got, err := info.NthKey(k)
			t.must(err)
			want(t, "key", got, name)
		}
	}
	t.must(info.Delete("zebra"))
	got, err := info.NthKey(1)
	t.must(err)
	want(t, "key after Delete", got, "mule")
	var walked []string
	for k, v := range info.All() {
		walked = append(walked, k+"="+v)
		t.must(info.Delete(k)) // the walk is over what there was
	}
	want(t, "the walk", strings.Join(walked, " "), "ape=again mule=2")
	for range mpi.InfoCreate().All() {
		t.Errorf("an empty info has a key")
	}
}

func infoDup(t *T, _ *mpi.Comm) {
	info := mpi.InfoCreate()
	t.must(info.Set("b", "1"))
	t.must(info.Set("a", "2"))
	d := info.Dup()
	t.must(info.Set("b", "3"))
	t.must(d.Set("c", "4"))
	wantValue(t, d, "b", "1")
	wantValue(t, info, "c", "-")
	got, err := d.NthKey(1)
	t.must(err)
	want(t, "the order", got, "a")
}

func infoErrors(t *T, _ *mpi.Comm) {
	info := mpi.InfoCreate()
	long := strings.Repeat("k", mpi.MaxInfoKey)
	t.must(info.Set(long, strings.Repeat("v", mpi.MaxInfoValue)))
	wantError(t, "Set", info.Set(long+"k", ""), mpi.ErrInfoKey, "256 bytes")
	wantError(t, "Set", info.Set("", "x"), mpi.ErrInfoKey, "empty")
	wantError(t, "Set", info.Set("k", strings.Repeat("v", mpi.MaxInfoValue+1)), mpi.ErrInfoValue, "\"k\"")
	want(t, "NKeys", info.NKeys(), 1)
	wantError(t, "Delete", info.Delete("k"), mpi.ErrInfoNokey, "\"k\"")
	for _, n := range []int{-1, 1} {
		_, err := info.NthKey(n)
		wantError(t, "NthKey", err, mpi.ErrArg, fmt.Sprintf("key %d of 1", n))
	}
	var none *mpi.Info
	wantValue(t, none, "k", "-")
	want(t, "NKeys of nil", none.NKeys(), 0)
	want(t, "NKeys of the copy of nil", none.Dup().NKeys(), 0)
	wantError(t, "Set", none.Set("k", "v"), mpi.ErrInfo, "nil")
	wantError(t, "Delete", none.Delete("k"), mpi.ErrInfo, "nil")
}

func infoShared(t *T, _ *mpi.Comm) {
	info := mpi.InfoCreate()
	t.each(4, func(g int) {
		for k := range 50 {
			t.must(info.Set(fmt.Sprint(g, k), "x"))
			for key := range info.Dup().All() {
				wantValue(t, info, key, "x")
				break
			}
			if k > 0 {
				t.must(info.Delete(fmt.Sprint(g, k)))
			}
		}
	})
	want(t, "NKeys", info.NKeys(), 4)
}

func infoEnv(t *T, c *mpi.Comm) {
	info, err := c.InfoEnv()
	t.must(err)
	wantValue(t, info, "command", os.Args[0])
	if len(os.Args) > 1 {
		wantValue(t, info, "argv", strings.Join(os.Args[1:], " "))
	} else {
		wantValue(t, info, "argv", "-")
	}
	wantValue(t, info, "maxprocs", fmt.Sprint(t.Size))
	wantValue(t, info, "soft", fmt.Sprint(t.Size))
	wantValue(t, info, "host", c.ProcessorName())
	wantValue(t, info, "arch", runtime.GOARCH)
	dir, err := os.Getwd()
	t.must(err)
	wantValue(t, info, "wdir", dir)
	wantValue(t, info, "thread_level", "MPI_THREAD_MULTIPLE")
	t.must(info.Set("arch", "abacus")) // it is the caller's own
	again, err := c.InfoEnv()
	t.must(err)
	wantValue(t, again, "arch", runtime.GOARCH)
	early := mpi.InfoCreateEnv()
	wantValue(t, early, "command", os.Args[0])
	wantValue(t, early, "maxprocs", "-")
	d, err := c.Dup(nil)
	t.must(err)
	t.must(d.Free())
	_, err = d.InfoEnv()
	wantError(t, "InfoEnv", err, mpi.ErrComm, "freed")
}

const (
	noAnyTag    = "mpi_assert_no_any_tag"
	noAnySource = "mpi_assert_no_any_source"
)

func commHints(t *T, c *mpi.Comm) {
	d, err := c.Dup(nil)
	t.must(err)
	want(t, "the number of hints", d.Info().NKeys(), 5)
	for key, value := range d.Info().All() {
		want(t, key, value, "false")
	}
	info := mpi.InfoCreate()
	t.must(info.Set(noAnyTag, "true"))
	t.must(info.Set(noAnySource, "maybe"))
	t.must(info.Set("colour", "blue"))
	t.must(d.SetInfo(info))
	wantValue(t, d.Info(), noAnyTag, "true")
	wantValue(t, d.Info(), noAnySource, "false")
	wantValue(t, d.Info(), "colour", "-")
	t.must(d.SetInfo(mpi.InfoCreate())) // hints that are not there stay as they are
	wantValue(t, d.Info(), noAnyTag, "true")
	t.must(info.Set(noAnyTag, "false"))
	wantValue(t, d.Info(), noAnyTag, "true")
	t.must(d.SetInfo(info))
	wantValue(t, d.Info(), noAnyTag, "false")
	wantError(t, "SetInfo", d.SetInfo(nil), mpi.ErrInfo, "nil")
	t.must(d.Free())
	wantError(t, "SetInfo", d.SetInfo(info), mpi.ErrComm, "freed")
}

func hintsOfCopies(t *T, c *mpi.Comm) {
	p, err := c.Dup(nil)
	t.must(err)
	info := mpi.InfoCreate()
	t.must(info.Set(noAnyTag, "true"))
	t.must(p.SetInfo(info))
	d, err := p.Dup(nil)
	t.must(err)
	wantValue(t, d.Info(), noAnyTag, "false")
	d, err = p.Split(0, 0)
	t.must(err)
	wantValue(t, d.Info(), noAnyTag, "false")
	t.must(info.Set(noAnySource, "true"))
	t.must(info.Set(noAnyTag, "false"))
	d, err = p.Dup(info)
	t.must(err)
	wantValue(t, d.Info(), noAnyTag, "false")
	wantValue(t, d.Info(), noAnySource, "true")
	wantValue(t, p.Info(), noAnySource, "false")
	d, err = p.Dup(nil)
	t.must(err)
	wantValue(t, d.Info(), noAnyTag, "false")
	pingAround(t, d, 1)
}
