package main

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// test is a line of a list: a program and how to run it.
type test struct {
	dir, name string
	ranks     int
	args, env []string
	limit     time.Duration // 0: that of all
	result    string        // what says that it has passed, if it is not its output

	outcome outcome
	text    string // why it has not passed
	took    time.Duration
}

// outcome is how a test went.
type outcome int

const (
	passed outcome = iota
	notBuilt
	failed
	tooLong
	outcomes
)

func (o outcome) String() string { return [...]string{"passed", "not built", "failed", "too long"}[o] }

// placeholder is what MPICH's configure puts into lists for tests that a build may leave out.
var placeholder = regexp.MustCompile(`^@\w+@`)

// list reads the tests of a directory. One without a list has its programs, on as many ranks as
// MPICH's documentation says of such: two.
func list(root, dir string) ([]*test, error) {
	for _, name := range []string{"testlist", "testlist.in"} {
		f, err := os.Open(filepath.Join(root, dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		defer f.Close()
		var all []*test
		for s := bufio.NewScanner(f); s.Scan(); {
			if t := parse(dir, s.Text()); t != nil {
				all = append(all, t)
			}
		}
		return all, nil
	}
	programs, err := filepath.Glob(filepath.Join(root, dir, "*.c"))
	var all []*test
	for _, p := range programs {
		text, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text, []byte("main(")) {
			continue
		}
		t := &test{dir: dir, name: strings.TrimSuffix(filepath.Base(p), ".c"), ranks: 2, result: exits}
		if t.name == "self" { // it sends to itself alone
			t.ranks = 1
		}
		all = append(all, t)
	}
	return all, err
}

// parse reads a line; nil if it is none of a test, or of one for devices of MPICH's.
func parse(dir, line string) *test {
	fields := strings.Fields(placeholder.ReplaceAllString(strings.TrimSpace(line), ""))
	if len(fields) < 2 || strings.HasPrefix(fields[0], "#") {
		return nil
	}
	n, err := strconv.Atoi(fields[1])
	if err != nil {
		return nil
	}
	t := &test{dir: dir, name: fields[0], ranks: n}
	for _, f := range fields[2:] {
		switch key, value, _ := strings.Cut(f, "="); key {
		case "arg":
			t.args = append(t.args, value)
		case "env":
			t.env = append(t.env, value)
		case "timeLimit":
			seconds, _ := strconv.Atoi(value)
			t.limit = time.Duration(seconds) * time.Second
		case "resultTest":
			t.result = value
		}
	}
	if isOfDevice(t.env) {
		return nil
	}
	return t
}

// isOfDevice reports whether a line only repeats a test with a setting of MPICH's own, which means
// nothing here.
func isOfDevice(env []string) bool {
	for _, e := range env {
		if strings.HasPrefix(e, "MPIR_CVAR_") || strings.HasPrefix(e, "MPICH_") {
			return true
		}
	}
	return false
}
