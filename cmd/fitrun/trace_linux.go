package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
	"github.com/fitmpi/fitmpi/internal/plain"
	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/trace"
)

// tracer makes the file of --trace. It is a part that looks at the job when that is over, and the
// launch.Tracer that is given what the ranks have noted.
//
// What comes is put into a spool, a file without a name beside the trace, so that neither memory
// nor the hosts of the job hold it until all is there.
type tracer struct {
	// immutable after newTracer
	path  string
	last  time.Duration // of the job that is wanted; 0 is all
	out   *os.File      // beside path, which it becomes
	spool *os.File

	mu     sync.Mutex
	pieces map[int][]extent // by the number of the first rank of a process: where in spool its stream lies; guarded by mu
	hosts  map[int]string   // likewise: where it ran; guarded by mu
	end    int64            // of spool; guarded by mu
	err    error            // the first of spool; nothing is taken after it; guarded by mu
	sealed bool             // nothing is taken any more; guarded by mu
	taking int              // streams that are being read; guarded by mu
	clocks map[string]trace.Clock
	notes  []string // guarded by mu, as clocks is
}

// extent is a piece of the spool.
type extent struct{ at, n int64 }

// traceParts is the tracer, if there is to be one.
func (o *options) traceParts(*view.View, io.Writer) ([]part, error) {
	if o.trace == "" {
		return nil, nil
	}
	t, err := newTracer(o.trace, o.traceLast)
	if err != nil {
		return nil, err
	}
	return []part{t}, nil
}

// newTracer opens the files, so that what cannot be written is said before a rank runs.
func newTracer(path string, last time.Duration) (*tracer, error) {
	t := &tracer{path: path, last: last, pieces: make(map[int][]extent), hosts: make(map[int]string), clocks: make(map[string]trace.Clock)}
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() { // a link, such as /dev/stdout, would be no more
		return nil, fmt.Errorf("--trace %s: this is not a file that could be replaced, and links are not followed: name another one", path)
	}
	var err error
	if t.out, err = createBeside(path); err == nil {
		if t.spool, err = createBeside(path); err == nil {
			err = os.Remove(t.spool.Name())
		}
	}
	if err != nil {
		t.Close()
		return nil, fmt.Errorf("--trace: %w", err)
	}
	return t, nil
}

// createBeside makes a new file in the directory of path.
func createBeside(path string) (*os.File, error) {
	name := fmt.Sprintf(".%s.%s", filepath.Base(path), rand.Text()[:8])
	return os.OpenFile(filepath.Join(filepath.Dir(path), name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// Close implements io.Closer: it removes what was opened and has not become the trace. It may be
// called again.
func (t *tracer) Close() error {
	var err error
	if t.out != nil {
		os.Remove(t.out.Name()) // fails if it has its name by now
		err = t.out.Close()
	}
	if t.spool != nil {
		err = errors.Join(err, t.spool.Close())
	}
	return err
}

// Take implements launch.Tracer.
func (t *tracer) Take(first int, host string, from io.Reader) {
	t.mu.Lock()
	t.taking++
	t.hosts[first] = host
	t.mu.Unlock()
	buf := make([]byte, 256<<10)
	for {
		n, err := io.ReadFull(from, buf)
		if !t.keep(first, buf[:n]) || err != nil {
			break
		}
	}
	t.mu.Lock()
	t.taking--
	t.mu.Unlock()
}

// keep puts the next bytes of a stream into the spool, and reports whether there is a use in
// reading on.
func (t *tracer) keep(first int, b []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sealed || t.err != nil {
		return false
	}
	if len(b) > 0 {
		_, t.err = t.spool.WriteAt(b, t.end)
		t.pieces[first] = append(t.pieces[first], extent{t.end, int64(len(b))})
		t.end += int64(len(b))
	}
	return t.err == nil
}

// Clock implements launch.Tracer.
func (t *tracer) Clock(c trace.Clock, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !known {
		t.notes = append(t.notes, fmt.Sprintf("the clock of %s could not be looked at: its times are its own", c.Host))
		return
	}
	t.clocks[c.Host] = c
}

// run implements part: there is nothing to do before the end.
func (t *tracer) run(context.Context, *view.View) {}

// hasAfterword says that after writes on stderr.
func (t *tracer) hasAfterword() bool { return true }

// after implements part: it makes the trace.
func (t *tracer) after(v *view.View, stderr io.Writer) {
	defer t.Close()
	_, ranks := v.Totals()
	if ranks == 0 {
		return // the job never began
	}
	job := t.seal()
	job.Last = t.last
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	sum, err := t.convert(ctx, job)
	if err != nil {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: --trace %s: %v\n", t.path, sys.ExplainLimit(err))
		return
	}
	fmt.Fprintf(launch.Folded(stderr), "fitrun: %s: %s\n", t.path, plain.Text(describe(sum, ranks, job.Notes)))
}

// seal ends the taking, and returns what is known of the job.
func (t *tracer) seal() trace.Job {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sealed = true
	if t.taking > 0 {
		t.notes = append(t.notes, fmt.Sprintf("the recordings of %d processes had not come when fitrun was interrupted", t.taking))
	}
	if t.err != nil {
		t.notes = append(t.notes, fmt.Sprintf("some recordings were lost: %v", t.err))
	}
	return trace.Job{Clocks: t.clocks, Notes: t.notes}
}

// convert writes the trace and gives it its name.
func (t *tracer) convert(ctx context.Context, job trace.Job) (trace.Summary, error) {
	var w io.Writer = t.out
	var zip *gzip.Writer
	if strings.HasSuffix(t.path, ".gz") {
		zip, _ = gzip.NewWriterLevel(t.out, gzip.BestSpeed)
		w = zip
	}
	sum, err := trace.Convert(ctx, w, job, t.recordings)
	if zip != nil && err == nil {
		err = zip.Close()
	}
	if err == nil {
		err = t.out.Close()
	}
	if err == nil {
		err = os.Rename(t.out.Name(), t.path)
	}
	return sum, err
}

// recordings goes through all that is in the spool. What is no recording ends the stream that it is
// in.
func (t *tracer) recordings(yield func(*trace.Recording) bool) {
	procs := make([]int, 0, len(t.pieces))
	for p := range t.pieces {
		procs = append(procs, p)
	}
	slices.Sort(procs)
	for _, p := range procs {
		var all []io.Reader
		for _, e := range t.pieces[p] {
			all = append(all, io.NewSectionReader(t.spool, e.at, e.n))
		}
		from := bufio.NewReaderSize(io.MultiReader(all...), 1<<16)
		for {
			r, err := trace.Decode(from)
			if err != nil {
				break
			}
			if r.Host = t.hosts[p]; !yield(r) {
				return
			}
		}
	}
}

var (
	_ part                       = (*tracer)(nil)
	_ launch.Tracer              = (*tracer)(nil)
	_ iter.Seq[*trace.Recording] = (*tracer)(nil).recordings
)

// describe says in a line what is in a trace.
func describe(s trace.Summary, ranks int, notes []string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "trace of %s, %s, %s with both ends; ui.perfetto.dev shows it",
		plain.Count(s.Ranks, "rank"), plain.Count(s.Events, "event"), plain.Count(s.Flows, "message"))
	if s.Overwritten > 0 {
		fmt.Fprintf(&text, "; %d events before these were not kept (--trace-buffer)", s.Overwritten)
	}
	if s.Missed > 0 {
		fmt.Fprintf(&text, "; %d calls were not noted, as more than %d were open in a rank", s.Missed, trace.Slots)
	}
	if missing := ranks - s.Ranks; missing > 0 {
		notes = append(notes, plain.Count(missing, "rank")+" noted nothing")
	}
	for _, n := range notes {
		text.WriteString("; " + n)
	}
	return text.String()
}

// traceBuffer is the memory that each rank needs for its part of the trace, 0 without --trace.
func (o *options) traceMemory() int64 {
	if o.trace == "" {
		return 0
	}
	return trace.Size(o.traceRoom)
}

// setTraceBuffer takes a size: 16M, 512K, 1G or a number of bytes.
func (o *options) setTraceBuffer(name, value string) error {
	n, ok := parseSize(value)
	switch {
	case !ok:
		return fmt.Errorf("%s %s: want the memory for the events of each rank, for example 64M", name, value)
	case n < trace.MinBuffer || n > trace.MaxBuffer:
		return fmt.Errorf("%s %s: want between %dK and %dG", name, value, trace.MinBuffer>>10, trace.MaxBuffer>>30)
	}
	o.traceRoom = n
	return nil
}

// parseSize reads a number of bytes, perhaps with K, M or G behind it for 1024, its square and its
// cube.
func parseSize(s string) (n int64, ok bool) {
	shift := 0
	if i := strings.IndexAny(s, "kKmMgG"); i >= 0 && i == len(s)-1 {
		shift = 10 * (1 + strings.IndexByte("kmg", s[i]|0x20))
		s = s[:i]
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' || n > 1<<40 {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	if s == "" || n > 1<<40 {
		return 0, false
	}
	return n << shift, true
}
