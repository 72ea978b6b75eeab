package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/mpi"
)

// wordcount runs the program on n ranks and returns what it printed.
func wordcount(t *testing.T, n int, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer // only rank 0 writes
	err := mpi.RunThreads(n, func(ctx context.Context, world *mpi.Comm) error {
		if world.Rank() == 0 {
			return run(ctx, world, args, &out)
		}
		return run(ctx, world, args, nil)
	})
	return out.String(), err
}

func wantOutput(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(out, p) {
			t.Errorf("output lacks %q:\n%s", p, out)
		}
	}
}

// texts are hard to cut: words of several bytes a letter, combining marks, no white space, no
// words, bytes that are no UTF-8, and some of that twice.
var texts = []string{
	"The cat, the dog and THE bird don't care; 'tis the dogs' day. Don’t!\n",
	"Größe größe GRÖSSE ÄÖÜ; Ελλάδα ελλάδα Москва москва — 東京 東京タワー, na\u00efve nai\u0308ve \U0001D7D8 x²\n",
	"",
	"\n \t\r\n",
	"... --- ''' ’’ '\n",
	"one\xfftwo \xe2\x80 three\xc3 \xf0\x9f\x98four'\xff'five a''b c'’d e'",
	strings.Repeat("ungetrennt", 50),
	strings.Repeat("über ", 200),
	"word",
}

func writeTexts(t *testing.T) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		name := filepath.Join(dir, fmt.Sprintf("%d.txt", i))
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	return append(files, files[0])
}

// Ranks count what serial code counts, however files are cut.
func TestEqualsSerial(t *testing.T) {
	files := writeTexts(t)
	for n := 1; n <= 5; n++ {
		for _, piece := range []string{"1", "7", "64", "0"} {
			out, err := wordcount(t, n, append([]string{"-check", "-piece", piece}, files...)...)
			if err != nil {
				t.Fatalf("%d ranks, pieces of %s: %v", n, piece, err)
			}
			wantOutput(t, out, "serial code counts the same", "über")
		}
	}
}

func TestKnownCounts(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(name, []byte("b a b\nB c' a'b don’t DON'T\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := "  b            3  37.50%\n  don't        2  25.00%\n  a            1  12.50%\n" // then a'b and c
	for n := 1; n <= 4; n++ {
		out, err := wordcount(t, n, "-top", "3", name)
		if err != nil {
			t.Fatal(err)
		}
		wantOutput(t, out, want, "8 words, 5 different ones")
	}
}

func TestNoWords(t *testing.T) {
	name := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(name, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := wordcount(t, 3, "-check", name)
	if err != nil {
		t.Fatal(err)
	}
	wantOutput(t, out, "0 words, 0 different ones")
}

func TestWrongUse(t *testing.T) {
	dir := t.TempDir()
	for _, tt := range []struct{ args, want string }{
		{"", "no files: name those to count"},
		{"-top -1 a", "choose 0 or more"},
		{"-piece -1 a", "choose 1 or more"},
		{"-x a", "-h shows the options"},
		{"/no/such.txt", "open /no/such.txt: no such file"},
		{"/no/a /no/b", "/no/b: no such file"},
		{dir, "is a directory: name the files in it"},
		{"/dev/null", "no regular file"},
	} {
		if _, err := wordcount(t, 2, strings.Fields(tt.args)...); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("wordcount %s: error %v, want one with %q", tt.args, err, tt.want)
		}
	}
}

func TestHelp(t *testing.T) {
	out, err := wordcount(t, 2, "-h")
	if err != nil || out != usage {
		t.Errorf("-h prints %q, %v", out, err)
	}
}

func TestMergeKeepsItsArguments(t *testing.T) {
	a, b := map[string]int{"x": 1, "y": 2}, map[string]int{"y": 3, "z": 4}
	acc := []map[string]int{a}
	merge(acc, []map[string]int{b})
	if want := map[string]int{"x": 1, "y": 5, "z": 4}; !maps.Equal(acc[0], want) {
		t.Errorf("merge gives %v, want %v", acc[0], want)
	}
	if len(a) != 2 || a["y"] != 2 || len(b) != 2 {
		t.Errorf("merge changed its arguments to %v and %v", a, b)
	}
}

// Whatever the bytes and wherever the cuts, the pieces together are the whole, and it is what the
// regular expression counts.
func FuzzPieces(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text), uint8(3))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		got := tally{counts: make(map[string]int)}
		length := int64(len(text))
		for _, p := range cut([]piece{{Size: length}}, int64(max(size, 1))) {
			n, err := got.add(bufio.NewReader(bytes.NewReader(text[p.From:])), p)
			got.bytes += n
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := got.check(share{bytes: length}); err != nil {
			t.Fatal(err)
		}
		want := make(map[string]int)
		serialCount(want, text)
		if err := got.compare(want); err != nil {
			t.Fatal(err)
		}
	})
}
