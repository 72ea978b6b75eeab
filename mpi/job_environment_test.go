package mpi

import (
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"testing"
)

func TestModuleVersion(t *testing.T) {
	us := func(v string) *debug.Module { return &debug.Module{Path: modulePath, Version: v} }
	replaced := us("v1.0.0")
	replaced.Replace = &debug.Module{Path: "../fitmpi", Version: ""}
	forked := us("v1.0.0")
	forked.Replace = &debug.Module{Path: "example.com/fork", Version: "v1.0.1"}
	other := &debug.Module{Path: "example.com/program", Version: "v9.9.9"}
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{Main: *other, Deps: []*debug.Module{other, us("v1.2.3")}}, "v1.2.3"},
		{debug.BuildInfo{Main: *us("v1.2.4")}, "v1.2.4"},
		{debug.BuildInfo{Main: *us("")}, "(devel)"},
		{debug.BuildInfo{Main: *other, Deps: []*debug.Module{replaced}}, "(devel)"},
		{debug.BuildInfo{Main: *other, Deps: []*debug.Module{forked}}, "v1.0.1"},
		{debug.BuildInfo{Main: *other}, "(devel)"},
	} {
		if got := moduleVersion(&test.info); got != test.want {
			t.Errorf("%+v: %s, want %s", test.info, got, test.want)
		}
	}
	if v := LibraryVersion(); !regexp.MustCompile(`^FitMPI \S+ \(go\S+.*, linux/\w+\)$`).MatchString(v) {
		t.Errorf("library version %q", v)
	}
}

func TestInitThreadLevel(t *testing.T) {
	for _, l := range []ThreadLevel{-1, ThreadMultiple + 1} {
		if _, _, err := InitThread(l); !errors.Is(err, ErrArg) {
			t.Errorf("%v: %v", l, err)
		}
	}
	if Initialized() {
		t.Error("a level that does not exist has initialized MPI")
	}
	if got := fmt.Sprint(ThreadSingle, ThreadFunneled, ThreadSerialized, ThreadMultiple, ThreadLevel(7)); got != "single funneled serialized multiple thread level 7" {
		t.Error(got)
	}
}

func TestGoroutineID(t *testing.T) {
	mine := goroutineID()
	other := make(chan uint64)
	go func() { other <- goroutineID() }()
	if got := <-other; mine == 0 || got == mine || goroutineID() != mine {
		t.Errorf("goroutines %d and %d, then %d", mine, got, goroutineID())
	}
}
