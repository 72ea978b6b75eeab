//go:build linux

package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestHelp(t *testing.T) {
	var out, help bytes.Buffer
	if err := run([]string{"-h"}, &out, &help); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("error %v, want %v", err, flag.ErrHelp)
	}
	for _, want := range slices.Concat(testNames(), []string{"fitrun -n 2", "-sizes", "-plot file"}) {
		if !strings.Contains(help.String(), want) {
			t.Errorf("no %s in the help:\n%s", want, help.String())
		}
	}
	if out.Len() > 0 {
		t.Errorf("help belongs on standard error; standard output has %q", out.String())
	}
}

// optionsOf parses a command line that is right.
func optionsOf(t *testing.T, args ...string) *options {
	t.Helper()
	opt, err := parseOptions(args, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return opt
}

func TestEnvironmentGivesDefaults(t *testing.T) {
	t.Setenv("FITMPI_PROGRESS", "worker")
	t.Setenv("FITMPI_TRANSPORT", "tcp")
	if opt := optionsOf(t, "bw"); opt.policy != "worker" || opt.via != "tcp" {
		t.Errorf("policy %s, transport %s, want worker and tcp", opt.policy, opt.via)
	}
	if opt := optionsOf(t, "bw", "-policy", "caller", "-transport", "shm"); opt.policy != "caller" || opt.via != "shm" {
		t.Errorf("policy %s, transport %s, want caller and shm", opt.policy, opt.via)
	}
	t.Setenv("FITMPI_TRANSPORT", "")
	for test, want := range map[string]string{"bw": "auto", "penalty": "tcp", "logp": "tcp"} {
		if opt := optionsOf(t, test); opt.via != want {
			t.Errorf("%s: transport %s, want %s", test, opt.via, want)
		}
	}
}

// The repetitions of bench/METHOD.md.
func TestSeries(t *testing.T) {
	for _, test := range []struct {
		args                                string
		size                                int
		iterations, warmup, series, before_ int
	}{
		{"bw", 8, 5000, 500, 250, 25},
		{"bw", 4 << 10, 5000, 500, 250, 25},
		{"bw", 64 << 10, 2000, 200, 100, 10},
		{"bw", 1 << 20, 300, 30, 20, 5},
		{"bw", 4 << 20, 40, 5, 20, 5},
		{"bw -iterations 3", 8, 3, 5, 3, 5},
		{"bw -iterations 3 -warmup 0", 8, 3, 0, 3, 0},
	} {
		e := &env{opt: optionsOf(t, strings.Fields(test.args)...)}
		if n, w := e.iterations(test.size), e.warmup(test.size); n != test.iterations || w != test.warmup {
			t.Errorf("%s of %d bytes: %d after %d, want %d after %d", test.args, test.size, n, w, test.iterations, test.warmup)
		}
		if n, w := e.series(test.size, 20); n != test.series || w != test.before_ {
			t.Errorf("%s of %d bytes: series of %d after %d, want %d after %d", test.args, test.size, n, w, test.series, test.before_)
		}
	}
}

func TestWindow(t *testing.T) {
	for _, test := range []struct {
		args       string
		size, want int
	}{{"bw", 8, 64}, {"bw", 1<<20 - 1, 64}, {"bw", 1 << 20, 16}, {"bw -window 7", 1 << 20, 7}} {
		if s := newStream(&env{opt: optionsOf(t, strings.Fields(test.args)...)}, test.size); s.window != test.want {
			t.Errorf("%s of %d bytes: window %d, want %d", test.args, test.size, s.window, test.want)
		}
	}
}

func TestBuffersStartAtAPage(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 5000, 8 << 10, 10000, 24 << 10, 40000, 64<<10 - 1, 64 << 10, 100000, 1 << 20} {
		for range 5 {
			b := buffer(n)
			if len(b) != n {
				t.Fatalf("%d bytes, want %d", len(b), n)
			}
			if at := reflect.ValueOf(b).Pointer(); n >= pageSize && at%pageSize != 0 {
				t.Errorf("buffer of %d bytes starts at %#x", n, at)
			}
		}
	}
}

// What is no terminal gets no line that is taken back.
func TestProgressIsForTerminals(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var buf bytes.Buffer
	for _, w := range []io.Writer{file, &buf} {
		p := newProgress(w)
		p.show("pingpong 8")
		p.clear()
	}
	if text, err := os.ReadFile(file.Name()); err != nil || len(text)+buf.Len() > 0 {
		t.Errorf("%v, %q and %q", err, text, buf.String())
	}
}

func TestProgressIsThrottled(t *testing.T) {
	var buf bytes.Buffer
	p := &progress{w: &buf}
	for range 3 {
		p.show("a")
	}
	p.last = p.last.Add(-progressEvery)
	p.show("b")
	p.clear()
	p.clear()
	if want := clearLine + "a" + clearLine + "b" + clearLine; buf.String() != want {
		t.Errorf("%q, want %q", buf.String(), want)
	}
}
