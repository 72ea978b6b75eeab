//go:build linux

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/trace"
)

// stream is what a process of one rank gives that has noted one event.
func stream(t *testing.T, rank int) []byte {
	t.Helper()
	mem := make([]byte, trace.Size(trace.MinBuffer))
	ring, err := trace.Open(mem, rank, 4)
	if err != nil {
		t.Fatal(err)
	}
	ring.Note(&trace.Event{Kind: trace.Turn, Time: ring.Now(), Span: 1, Peer: trace.NoPeer})
	f, err := os.Create(filepath.Join(t.TempDir(), "ring"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(mem); err != nil {
		t.Fatal(err)
	}
	s := trace.NewSource([]*os.File{f})
	defer s.Close()
	b, err := io.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func newTestTracer(t *testing.T) *tracer {
	t.Helper()
	tr, err := newTracer(filepath.Join(t.TempDir(), "out.json"), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// ranksOf are those that a tracer has, in order.
func ranksOf(tr *tracer) (ranks []int) {
	tr.recordings(func(r *trace.Recording) bool {
		ranks = append(ranks, r.Rank)
		return true
	})
	return ranks
}

// TestTracerTakes: streams that come at the same time, in pieces, are told apart; what is cut off,
// or garbage, ends its own only.
func TestTracerTakes(t *testing.T) {
	tr := newTestTracer(t)
	one, two, three := stream(t, 1), stream(t, 2), stream(t, 3)
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() { // ends with w
		defer close(done)
		tr.Take(1, "host", r)
	}()
	w.Write(append(one, two[:len(two)/2]...))
	tr.Take(0, "host", bytes.NewReader(three))
	w.Write(two[len(two)/2:])
	w.Close()
	<-done
	tr.Take(2, "host", bytes.NewReader(append(stream(t, 0), one[:len(one)-1]...)))
	tr.Take(3, "host", strings.NewReader(strings.Repeat("garbage", 1000)))
	if got := ranksOf(tr); len(got) != 4 || got[0] != 3 || got[1] != 1 || got[2] != 2 || got[3] != 0 {
		t.Errorf("ranks %v", got)
	}
}

// TestTracerFull: without room for recordings the trace has what there was room for, and says what
// is missing; the streams are read no further, which is their sender's business.
func TestTracerFull(t *testing.T) {
	tr := newTestTracer(t)
	tr.Take(0, "host", bytes.NewReader(stream(t, 0)))
	readOnly, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	whole := tr.spool
	tr.spool = readOnly // as good as full
	tr.Take(1, "host", bytes.NewReader(stream(t, 1)))
	tr.spool = whole
	readOnly.Close()
	tr.Take(2, "host", bytes.NewReader(stream(t, 2)))
	job := tr.seal()
	if got := ranksOf(tr); len(got) != 1 || got[0] != 0 || len(job.Notes) != 1 || !strings.Contains(job.Notes[0], "some recordings were lost: write /dev/null") {
		t.Errorf("ranks %v, notes %q", got, job.Notes)
	}
	if text := describe(trace.Summary{Ranks: 1}, 3, job.Notes); !strings.Contains(text, "some recordings were lost") || !strings.Contains(text, "2 ranks noted nothing") {
		t.Error(text)
	}
}

// TestTracerSealed: what comes when fitrun is about to end is not taken, and that is said.
func TestTracerSealed(t *testing.T) {
	tr := newTestTracer(t)
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() { // ends at the first piece that it must not take
		defer close(done)
		tr.Take(0, "host", r)
		r.Close()
	}()
	w.Write(stream(t, 0)[:10]) // so it takes
	if job := tr.seal(); len(job.Notes) != 1 || !strings.Contains(job.Notes[0], "of 1 processes had not come") {
		t.Errorf("notes %q", job.Notes)
	}
	for { // the pipe passes on pieces as they come
		if _, err := w.Write(make([]byte, 64<<10)); err != nil {
			break
		}
	}
	<-done
	if got := ranksOf(tr); len(got) != 0 {
		t.Errorf("ranks %v", got)
	}
}

// TestTraceFileFails: a trace that cannot be written leaves what had its name before, and nothing
// else.
func TestTraceFileFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.json")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr, err := newTracer(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	tr.Take(0, "host", bytes.NewReader(stream(t, 0)))
	out := tr.out
	if tr.out, err = os.Open(out.Name()); err != nil { // only to be read: as good as a full disk
		t.Fatal(err)
	}
	out.Close()
	if _, err := tr.convert(t.Context(), tr.seal()); err == nil {
		t.Error("it is written")
	}
	tr.Close()
	files, err := os.ReadDir(dir)
	b, rerr := os.ReadFile(path)
	if err != nil || rerr != nil || len(files) != 1 || string(b) != "before" {
		t.Errorf("%v, %v: %d files, %q", err, rerr, len(files), b)
	}
}

func TestParseSize(t *testing.T) {
	for _, tc := range []struct {
		text string
		want int64
	}{
		{"0", 0}, {"123", 123}, {"64k", 64 << 10}, {"64K", 64 << 10}, {"16M", 16 << 20}, {"3g", 3 << 30},
		{"", -1}, {"M", -1}, {"1.5M", -1}, {"-1", -1}, {"1MM", -1}, {"1T", -1}, {"99999999999999999999", -1},
	} {
		got, ok := parseSize(tc.text)
		if !ok {
			got = -1
		}
		if got != tc.want {
			t.Errorf("%q is %d, want %d", tc.text, got, tc.want)
		}
	}
}

// TestTraceReplacesNoLink: what a link leads to may be a file, as that of /dev/stdout, and still
// the link is to stay.
func TestTraceReplacesNoLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	if tr, err := newTracer(link, 0); err == nil {
		tr.Close()
		t.Error("a link is taken for a file")
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 2 {
		t.Errorf("%v, %v", names, err)
	}
}
