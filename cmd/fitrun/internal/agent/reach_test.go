//go:build linux

package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
)

func TestSplit(t *testing.T) {
	var targets []Target
	for i := range 10 {
		targets = append(targets, Target{Host: i})
	}
	for n := range 11 {
		for k := 1; k < 12; k++ {
			groups := split(targets[:n], k)
			if !slices.Equal(slices.Concat(groups...), targets[:n]) || len(groups) != min(n, k) {
				t.Errorf("%d in %d groups: %v", n, k, groups)
			}
			for _, g := range groups {
				if len(g) < n/len(groups) || len(g) > n/len(groups)+1 {
					t.Errorf("%d in %d groups: one of %d", n, k, len(g))
				}
			}
		}
	}
}

func TestReadMarker(t *testing.T) {
	for _, tc := range []struct{ said, want string }{
		{"Welcome!\n\n" + marker + " Linux x86_64\nmore", "Linux x86_64 <nil>"},
		{marker + " Linux\n" + marker + " Linux s390x\n", "Linux s390x <nil>"},
		{"Welcome!\n", "  EOF"},
		{strings.Repeat("noise\n", maxNoise), "  its login shell says more than 65536 bytes, and not what it was asked"},
	} {
		system, machine, err := readMarker(bufio.NewReader(strings.NewReader(tc.said)))
		if got := fmt.Sprint(system, " ", machine, " ", err); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// The prologue is one line without single quotes: so every login shell passes it on as it is.
func TestPrologue(t *testing.T) {
	if strings.ContainsAny(prologue, "'\n") {
		t.Errorf("%q", prologue)
	}
}

// TestPrologueInTemporary: where there is no cache the prologue uses a directory in one that all
// users may write. It does not if that directory is another user's.
func TestPrologueInTemporary(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(dir string) error // makes what is there before
		isFine  bool
	}{
		{"nothing is there", func(string) error { return nil }, true},
		{"ours is there", func(dir string) error { return os.Mkdir(dir, 0o755) }, true},
		{"somebody else's is there", func(dir string) error { return errors.Join(os.Mkdir(dir, 0o777), os.Chown(dir, 12345, -1)) }, false},
		{"a link to somebody else's", func(dir string) error {
			return errors.Join(os.Mkdir(dir+"-evil", 0o777), os.Chown(dir+"-evil", 12345, -1), os.Symlink(dir+"-evil", dir))
		}, false},
		{"a file is there", func(dir string) error { return os.WriteFile(dir, nil, 0o600) }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tmp := t.TempDir()
			dir := filepath.Join(tmp, fmt.Sprint("fitmpi-", os.Getuid()))
			if err := tc.prepare(dir); errors.Is(err, os.ErrPermission) {
				t.Skip(err) // only root can give directories away
			} else if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", prologue)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/dev/null", "TMPDIR=" + tmp}
			cmd.Stdin = strings.NewReader("0123 7 1s\n" + "exit 7\n")
			out, err := cmd.CombinedOutput()
			isFine := cmd.ProcessState.ExitCode() == 7 && strings.HasSuffix(string(out), "\nNEED\n")
			refused := cmd.ProcessState.ExitCode() == 1 && strings.Contains(string(out), dir+" cannot be used for a copy of fitrun")
			if isFine != tc.isFine || refused == tc.isFine {
				t.Errorf("%v, it says %q", err, out)
			}
			if st, err := os.Stat(dir); tc.isFine && (err != nil || st.Mode().Perm() != 0o700) {
				t.Errorf("%v, %v", st, err)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	for _, tc := range []struct {
		w    Way
		to   Target
		want string
	}{
		{Way{Command: []string{"true", "-4"}, Args: []string{"-F", "f"}}, Target{Name: "h", User: "u", Port: 7},
			`true|-4|-F|f|-T|-x|-o|BatchMode=yes|-o|ControlMaster=no|-o|ClearAllForwardings=yes|-o|RemoteCommand=none|-o|ConnectTimeout=6|-p|7|-l|u|--|h|exec sh -c 'x'`},
		{Way{Kind: "srun", Command: []string{"true"}}, Target{Name: "h"},
			`true|--nodes=1|--ntasks=1|--nodelist=h|--overlap|--cpu-bind=none|--mpi=none|--|sh|-c|x`},
		{Way{Command: []string{"no-such-command"}}, Target{Name: "h"}, "no-such-command: not found in PATH; hosts are reached by it"},
		{Way{Command: []string{"true"}}, Target{Name: "-oProxyCommand=x"}, "-oProxyCommand=x is no name of a host"},
		{Way{Kind: "rsh"}, Target{Name: "h"}, `there is no way "rsh" to reach a host; there are ssh and srun`},
	} {
		cmd, err := tc.w.command(tc.to, "x", 9*time.Second)
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = strings.Join(cmd.Args, "|")
		}
		if got != tc.want {
			t.Errorf("%s\nwant %s", got, tc.want)
		}
	}
}

func TestArch(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got := ArchOfFile(exe); got != runtime.GOARCH {
		t.Errorf("this is a program for %q, want %s", got, runtime.GOARCH)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := ArchOfFile(script); got != "" {
		t.Errorf("a script is for %q", got)
	}
	for machine, want := range map[string]string{"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64", "s390x": "s390x", "i686": "386"} {
		if got := ArchOf(machine); got != want {
			t.Errorf("%s: %s, want %s", machine, got, want)
		}
	}
}

func TestFindProgram(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o700)
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	same, other := write("same/prog", "ours"), write("other/prog", "theirs")
	strange := write("strange/prog", foreignHeader())
	sum, size, err := SumFile(same)
	if err != nil {
		t.Fatal(err)
	}
	c := cache{filepath.Join(dir, "cache")}
	none := filepath.Join(dir, "none/prog")
	for _, tc := range []struct {
		name string
		p    Program
		want Found
	}{
		{"the same", Program{Path: same}, Found{Path: same, Dir: dir}},
		{"another", Program{Path: other}, Found{Path: other, Dir: dir, Other: true}},
		{"another, and ours is wanted", Program{Path: other, Preload: true}, Found{Dir: dir}},
		{"none", Program{Path: none}, Found{Dir: dir}},
		{"elsewhere", Program{Path: none, Search: []string{"/nowhere", filepath.Dir(same)}}, Found{Path: same, Dir: dir}},
		{"foreign", Program{Path: none, Foreign: "no use"}, Found{Dir: dir, Error: "no use"}},
		{"foreign and the same", Program{Path: same, Foreign: "no use"}, Found{Path: same, Dir: dir, Error: "no use"}},
		{"another, for another machine", Program{Path: strange}, Found{Dir: dir}},
		{"another, for another machine, and one", Program{Path: strange, Search: []string{filepath.Dir(other)}}, Found{Path: other, Dir: dir, Other: true}},
		{"foreign, and theirs is too", Program{Path: strange, Foreign: "no use"}, Found{Dir: dir, Error: "no use"}},
		{"foreign, and they have their own", Program{Path: other, Foreign: "no use"}, Found{Path: other, Dir: dir, Other: true}},
	} {
		tc.p.Sum, tc.p.Size, tc.p.Dir = sum, size, dir
		if got := findProgram(c, tc.p); got != tc.want {
			t.Errorf("%s: %+v, want %+v", tc.name, got, tc.want)
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	if f := findProgram(c, Program{Path: same, Sum: sum, Dir: "/no/such"}); f.Dir != home || !f.NoDir {
		t.Errorf("%+v, want home", f)
	}
	if f := findProgram(c, Program{Path: same, Sum: sum, Dir: "/no/such", MustDir: true}); f.Error != "--wdir /no/such: no such file or directory" {
		t.Errorf("%+v, want an error", f)
	}
}

// foreignHeader is the beginning of a program for a machine that this is not.
func foreignHeader() string {
	h := elf.Header64{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_S390), Version: uint32(elf.EV_CURRENT), Ehsize: 64}
	copy(h.Ident[:], elf.ELFMAG+string([]byte{byte(elf.ELFCLASS64), byte(elf.ELFDATA2MSB), byte(elf.EV_CURRENT)}))
	if runtime.GOARCH == "s390x" {
		h.Machine = uint16(elf.EM_PPC64)
	}
	var b bytes.Buffer
	binary.Write(&b, binary.BigEndian, h)
	return b.String()
}

func TestCache(t *testing.T) {
	c := cache{t.TempDir()}
	text := []byte("a program")
	file := filepath.Join(t.TempDir(), "prog")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	sum, size, err := SumFile(file)
	if err != nil || c.find(sum, "prog") != "" {
		t.Fatalf("%v, or it is there already", err)
	}
	store := func(pieces ...string) error {
		w, err := c.begin(sum, "prog", size)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pieces {
			if err := w.write([]byte(p)); err != nil {
				w.abandon()
				return err
			}
		}
		return w.end()
	}
	if err := store("a ", "pr0gram"); err == nil || err.Error() != "storing the program: it was damaged on the way" {
		t.Errorf("%v", err)
	}
	if err := store("a ", "program", "s"); err == nil || err.Error() != "storing the program: more than 9 bytes came" {
		t.Errorf("%v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(c.dir, sum)); len(left) > 0 || c.find(sum, "prog") != "" {
		t.Errorf("left: %v", left)
	}
	if err := store("a ", "program"); err != nil || c.find(sum, "prog") != c.path(sum, "prog") {
		t.Errorf("%v, found %q", err, c.find(sum, "prog"))
	}
	if err := os.WriteFile(c.path(sum, "prog"), []byte("tampered"), 0o700); err != nil || c.find(sum, "prog") != "" {
		t.Errorf("%v, or another file is taken for it", err)
	}
	c.wantNoRoom(t, sum)
	old := time.Now().Add(-2 * keepFor)
	os.Mkdir(filepath.Join(c.dir, "mine"), 0o700)
	for _, name := range []string{sum, "mine"} {
		os.Chtimes(filepath.Join(c.dir, name), old, old)
	}
	c.clean(sum)
	if _, err := os.Stat(c.path(sum, "prog")); err != nil {
		t.Error("what is kept is gone")
	}
	c.clean("")
	if _, err := os.Stat(filepath.Join(c.dir, sum)); err == nil {
		t.Error("an old copy is still there")
	}
	if _, err := os.Stat(filepath.Join(c.dir, "mine")); err != nil {
		t.Error("what is none of ours is gone")
	}
}

// wantNoRoom stores programs where something else is.
func (c cache) wantNoRoom(t *testing.T, sum string) {
	t.Helper()
	none := sha256.Sum256(nil)
	w, err := c.begin(hex.EncodeToString(none[:]), "empty", 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(w.to, 0o700); err != nil {
		t.Fatal(err)
	}
	want := "storing the program: rename " + w.f.Name() + " " + w.to + ": file exists"
	if err := w.end(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	c.dir = c.path(sum, "prog")
	want = "storing the program: mkdir " + c.dir + ": not a directory"
	if _, err := c.begin(sum, "prog", 1); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestCacheNowhere: a user without a home has no place for programs.
func TestCacheNowhere(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	const want = "looking for a place for copies of programs: neither $XDG_CACHE_HOME nor $HOME are defined"
	if _, err := cacheOf("/fitrun"); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestExplain: a host that is lost is named with what the command said that reaches it, if that
// says something, however late; and how the command ended is told only if that was its own doing.
func TestExplain(t *testing.T) {
	for _, tc := range []struct {
		script string
		words  time.Duration // that the command has for them
		err    error
		want   string
	}{
		{"exec >&-; echo Connection to b closed by remote host. >&2; exit 255", time.Minute, io.EOF, "Connection to b closed by remote host"},
		{"exec >&-; sleep 0.1; echo later >&2; exit 255", time.Minute, io.ErrUnexpectedEOF, "later"},
		{"exec >&-; exit 3", time.Minute, io.EOF, "sh ended with exit status 3"},
		{"kill -9 $$", time.Minute, io.EOF, "sh ended with signal: killed"},
		{"exec >&-; exec sleep 1000", time.Millisecond, io.EOF, "the connection ended, and sh did not say why"},
		{"echo first >&2; exec >&-; exec sleep 1000", time.Minute, errors.New("it talks nonsense"), "it talks nonsense"},
	} {
		t.Run(tc.script, func(t *testing.T) {
			b := &branch{cmd: exec.Command("sh", "-c", tc.script), said: new(crew.Tail), exited: make(chan struct{}), words: tc.words}
			if err := b.start(); err != nil {
				t.Fatal(err)
			}
			if isEnd(tc.err) {
				io.Copy(io.Discard, b.out) // to the end, as the reader of the conversation has read
			}
			b.cut(tc.err)
			if err := b.explain(t.Context(), tc.err); err.Error() != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
			b.close()
		})
	}
}

// TestExplainInTime: when the launch, or its time, ends, explain does not wait for a command that
// says nothing and does not end.
func TestExplainInTime(t *testing.T) {
	b := &branch{cmd: exec.Command("sh", "-c", "exec >&-; exec sleep 1000"), said: new(crew.Tail), exited: make(chan struct{}), words: time.Minute}
	if err := b.start(); err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, b.out)
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := b.explain(ctx, io.EOF); err.Error() != "the connection ended" {
		t.Error(err)
	}
	if d := time.Since(began); d > b.words/2 {
		t.Errorf("it took %v", d)
	}
	b.kill()
	b.close()
}
