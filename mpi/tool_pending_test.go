package mpi

import (
	"context"
	"errors"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// lines knows the lines of the program under test by name.
type lines struct {
	mu    sync.Mutex
	names map[string]string // guarded by mu; of file:line
}

// at names the line where it is called and returns v, so that it may stand among the arguments of
// what is to be found there.
func at[T any](l *lines, name string, v T) T {
	_, file, line, _ := runtime.Caller(1)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names[fmt.Sprintf("%s:%d", file, line)] = name
	return v
}

func (l *lines) name(at string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n, ok := l.names[at]; ok {
		return n
	}
	if at == "" {
		return "-"
	}
	return path.Base(at)
}

// situation is a job that gets stuck, and what its ranks then say.
type situation struct {
	name  string
	ranks int
	run   func(w *Comm, l *lines)
	want  []string // of each rank: its calls, then its operations that no call waits for, then its messages
	ends  bool     // the rank's function returns when run does, instead of waiting for the end
}

var errSeen = errors.New("seen")

// play runs s until all ranks say what is wanted, or for a while, and returns what they have said
// last.
func (s *situation) play(t *testing.T) []string {
	t.Helper()
	l := &lines{names: make(map[string]string)}
	ctx, cancel := context.WithCancelCause(t.Context())
	var worlds sync.Map
	var ended sync.WaitGroup
	ended.Go(func() {
		RunThreadsContext(ctx, s.ranks, func(_ context.Context, w *Comm) error {
			worlds.Store(w.Rank(), w)
			w.SetErrhandler(ErrorsReturn)
			if s.run(w, l); s.ends {
				return nil
			}
			<-ctx.Done()
			return nil
		})
	})
	got := make([]string, s.ranks)
	for end := time.Now().Add(30 * time.Second); !slices.Equal(got, s.want) && time.Now().Before(end); runtime.Gosched() {
		for r := range got {
			if w, ok := worlds.Load(r); ok {
				got[r] = l.render(w.(*Comm).job.report(telemetry.AskPending))
			}
		}
	}
	cancel(errSeen)
	ended.Wait()
	return got
}

// render is a report as text.
func (l *lines) render(r *telemetry.Report) string {
	p := r.Pending
	var out []string
	awaited := make(map[int]bool)
	for _, c := range p.Calls {
		var ops []string
		for _, i := range c.Waits {
			awaited[i] = true
			ops = append(ops, l.operation(p, &p.Operations[i], &c))
		}
		text := fmt.Sprintf("%s@%s %d of: %s", c.Op, l.name(c.At), c.Need, strings.Join(ops, ", "))
		if c.Bounded {
			text = "bounded " + text
		}
		out = append(out, text)
	}
	slices.Sort(out)
	for i := range p.Operations {
		if !awaited[i] {
			out = append(out, "pending "+l.operation(p, &p.Operations[i], nil))
		}
	}
	for _, m := range p.Messages {
		if !m.Internal {
			out = append(out, fmt.Sprintf("message from %d tag %d %dB in %s announced %v", m.Source, m.Tag, m.Bytes, commName(p, m.Comm), m.Announced))
		}
	}
	return strings.Join(out, "\n")
}

func (l *lines) operation(p *telemetry.Pending, o *telemetry.Operation, by *telemetry.Call) (text string) {
	where := ""
	if by == nil || o.At != by.At || o.Op != by.Op {
		where = fmt.Sprintf("%s@%s ", o.Op, l.name(o.At))
	}
	where += string(o.Kind)
	switch o.Kind {
	case telemetry.Collective:
		return fmt.Sprintf("%s %d in %s from %v to %v", where, o.Tag, commName(p, o.Comm), o.From, o.To)
	case telemetry.General:
		return where
	case telemetry.Flush:
		return fmt.Sprintf("%s to %v", where, o.To)
	case telemetry.Probe:
		return fmt.Sprintf("%s %d tag %d in %s", where, o.Peer, o.Tag, commName(p, o.Comm))
	case telemetry.Parts:
		where += fmt.Sprintf(" sends %v left %d unready %d", o.Sends, o.Left, o.NotReady)
	}
	if o.Detached {
		defer func() { text += " detached" }()
	}
	return fmt.Sprintf("%s %s %d tag %d %dB in %s", where, o.State, o.Peer, o.Tag, o.Bytes, commName(p, o.Comm))
}

func commName(p *telemetry.Pending, ctx uint64) string {
	for _, c := range p.Comms {
		switch {
		case c.Context != ctx:
		case c.Remote != nil:
			return fmt.Sprintf("%s %v with %v", c.Name, c.Ranks, c.Remote)
		case c.Ranks != nil:
			return fmt.Sprintf("%s %v", c.Name, c.Ranks)
		default:
			return c.Name
		}
	}
	return fmt.Sprintf("context %x", ctx)
}

const long = 1 << 20 // bytes: beyond what is sent before the receiver asks for it, and what is copied

var situations = []situation{
	{"a receive", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			Recv(w, make([]int64, 5), 1, at(l, "recv", 7))
		}
	}, []string{"Recv@recv 1 of: receive queued 1 tag 7 40B in world", ""}, false},
	{"a receive of anything", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			Recv(w, make([]int64, 5), AnySource, at(l, "recv", AnyTag))
		}
	}, []string{"Recv@recv 1 of: receive queued -1 tag -1 40B in world", ""}, false},
	{"a receive of any length", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			RecvNew[byte](w, 1, at(l, "recv", 7))
		}
	}, []string{"RecvNew@recv 1 of: receive queued 1 tag 7 -1B in world", ""}, false},
	{"Wait for a late receiver", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			r := Isend(w, make([]byte, long), 1, at(l, "isend", 3))
			at(l, "wait", r).Wait()
		}
	}, []string{"Wait@wait 1 of: Isend@isend send awaiting 1 tag 3 1048576B in world",
		"message from 0 tag 3 1048576B in world announced true"}, false},
	{"WaitAll", 3, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			a := Irecv(w, make([]byte, 8), 1, at(l, "a", 1))
			b := Irecv(w, make([]byte, 16), 2, at(l, "b", 2))
			at(l, "waitall", WaitAll)(a, b)
		}
	}, []string{"WaitAll@waitall 2 of: Irecv@a receive queued 1 tag 1 8B in world, Irecv@b receive queued 2 tag 2 16B in world", "", ""}, false},
	{"WaitAny", 3, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			a := Irecv(w, make([]byte, 8), 1, at(l, "a", 1))
			b := Irecv(w, make([]byte, 16), 2, at(l, "b", 2))
			at(l, "waitany", WaitAny)(a, b)
		}
	}, []string{"WaitAny@waitany 1 of: Irecv@a receive queued 1 tag 1 8B in world, Irecv@b receive queued 2 tag 2 16B in world", "", ""}, false},
	{"requests that nobody waits for", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			Irecv(w, make([]byte, 8), 1, at(l, "irecv", 1))
		} else {
			Isend(w, make([]byte, 4), 0, at(l, "isend", 2))
		}
	}, []string{"pending Irecv@irecv receive queued 1 tag 1 8B in world\nmessage from 1 tag 2 4B in world announced false", ""}, false},
	{"a barrier that one does not reach", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			Barrier(at(l, "barrier", w))
		}
	}, []string{"Barrier@barrier 1 of: collective 0 in world from [1] to []", ""}, false},
	{"Ssend", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			Ssend(w, make([]byte, 3), 1, at(l, "ssend", 9))
		}
	}, []string{"Ssend@ssend 1 of: send awaiting 1 tag 9 3B in world", "message from 0 tag 9 3B in world announced false"}, false},
	{"a message that the library has copied", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			Send(w, make([]byte, 300<<10), 1, at(l, "send", 9))
		}
	}, []string{"pending @- send awaiting 1 tag 9 307200B in world detached", "message from 0 tag 9 307200B in world announced true"}, false},
	{"Sendrecv", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			Sendrecv(w, make([]byte, long), 1, 1, make([]int32, 2), 1, at(l, "sendrecv", 2))
		}
	}, []string{"Sendrecv@sendrecv 2 of: receive queued 1 tag 2 8B in world, send awaiting 1 tag 1 1048576B in world",
		"message from 0 tag 1 1048576B in world announced true"}, false},
	{"Probe", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			Probe(w, 1, at(l, "probe", AnyTag))
		} else {
			Mprobe(w, AnySource, at(l, "mprobe", 4))
		}
	}, []string{"Probe@probe 1 of: probe 1 tag -1 in world", "Mprobe@mprobe 1 of: probe -1 tag 4 in world"}, false},
	{"a communicator with a name", 3, func(w *Comm, l *lines) {
		sub, err := w.Split(min(w.Rank(), 1), -w.Rank())
		if err != nil {
			panic(err)
		}
		sub.SetName("sub")
		if w.Rank() == 1 { // the second in sub
			Recv(sub, make([]int64, 1), 0, at(l, "recv", 0))
		}
	}, []string{"", "Recv@recv 1 of: receive queued 2 tag 0 8B in sub [2 1]", ""}, false},
	{"a collective of an intercommunicator", 2, func(w *Comm, l *lines) {
		local, err := w.Split(w.Rank(), 0)
		if err != nil {
			panic(err)
		}
		inter, err := local.IntercommCreate(0, w, 1-w.Rank(), 0)
		if err != nil {
			panic(err)
		}
		inter.SetName("inter")
		if w.Rank() == 0 {
			Barrier(at(l, "barrier", inter))
		}
	}, []string{"Barrier@barrier 1 of: collective 0 in inter (both groups) from [1] to []", ""}, false},
	{"an intercommunicator", 3, func(w *Comm, l *lines) {
		local, err := w.Split(min(w.Rank(), 1), 0)
		if err != nil {
			panic(err)
		}
		inter, err := local.IntercommCreate(0, w, 1-min(w.Rank(), 1), 0)
		if err != nil {
			panic(err)
		}
		inter.SetName("inter")
		if w.Rank() == 0 {
			Recv(inter, make([]int64, 1), 1, at(l, "recv", 0))
		}
	}, []string{"Recv@recv 1 of: receive queued 2 tag 0 8B in inter [0] with [1 2]", "", ""}, false},
	{"persistent requests", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			a := RecvInit(w, make([]byte, 8), 1, at(l, "a", 1))
			b := SsendInit(w, make([]byte, 8), 1, at(l, "b", 2))
			StartAll(a, b)
			at(l, "wait", WaitAll)(a, b)
		}
	}, []string{"WaitAll@wait 2 of: RecvInit@a receive queued 1 tag 1 8B in world, SsendInit@b send awaiting 1 tag 2 8B in world",
		"message from 0 tag 2 8B in world announced false"}, false},
	{"partitions", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			r := PsendInit(w, make([]byte, 16), 4, 1, at(l, "init", 1))
			r.Start()
			r.Pready(2)
			at(l, "wait", r).Wait()
		} else {
			r := PrecvInit(w, make([]byte, 16), 2, 0, at(l, "recv", 1))
			r.Start()
			at(l, "wait1", r).Wait()
		}
	}, []string{"Wait@wait 1 of: PsendInit@init partitioned sends true left 3 unready 3 moving 1 tag 1 16B in world",
		"Wait@wait1 1 of: PrecvInit@recv partitioned sends false left 3 unready 0 moving 0 tag 1 16B in world"}, false},
	{"a partitioned receive that has no sender", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			r := PrecvInit(w, make([]byte, 16), 2, 1, at(l, "init", 1))
			r.Start()
			at(l, "wait", r).Wait()
		}
	}, []string{"Wait@wait 1 of: PrecvInit@init partitioned sends false left 2 unready 0 moving 1 tag 1 16B in world", ""}, false},
	{"collectives of other kinds", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			in, out := []int64{1}, make([]int64, 1)
			a := Iallreduce(at(l, "a", w), in, out, Sum)
			b := BcastInit(w, in, at(l, "b", 1))
			b.Start()
			at(l, "wait", WaitAll)(a, b)
		}
	}, []string{"WaitAll@wait 2 of: Iallreduce@a collective 0 in world from [1] to [], BcastInit@b collective 0 in world from [1] to []", ""}, false},
	{"a wait that its context may end", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			ctx, cancel := context.WithCancel(w.job.ctx)
			defer cancel()
			Recv(w.WithContext(ctx), make([]byte, 1), 1, at(l, "recv", 7))
		} else {
			Recv(w.WithContext(w.job.ctx), make([]byte, 1), 0, at(l, "recv1", 7))
		}
	}, []string{"bounded Recv@recv 1 of: receive queued 1 tag 7 1B in world", "Recv@recv1 1 of: receive queued 0 tag 7 1B in world"}, false},
	{"a wait of which the context may end a part", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			ctx, cancel := context.WithCancel(w.job.ctx)
			defer cancel()
			a := Irecv(w.WithContext(ctx), make([]byte, 1), 1, at(l, "a", 7))
			b := Irecv(w, make([]byte, 1), 1, at(l, "b", 8))
			at(l, "wait", WaitAll)(a, b)
		}
	}, []string{"WaitAll@wait 2 of: Irecv@a receive queued 1 tag 7 1B in world, Irecv@b receive queued 1 tag 8 1B in world", ""}, false},
	{"a generalised request", 1, func(w *Comm, l *lines) {
		r := at(l, "start", w).GrequestStart(GeneralCallbacks{})
		defer context.AfterFunc(w.job.ctx, func() { r.Complete() })() // the end of the job does not end it
		at(l, "wait", r).Wait()
	}, []string{"Wait@wait 1 of: GrequestStart@start general"}, false},
	{"a buffer that is not empty", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			w.AttachJobBuffer(make([]byte, 2*long))
			Bsend(w, make([]byte, long), 1, 5)
			at(l, "detach", w).DetachJobBuffer()
		}
	}, []string{"DetachJobBuffer@detach 1 of: flush to [1]\npending @- send awaiting 1 tag 5 1048576B in world detached",
		"message from 0 tag 5 1048576B in world announced true"}, false},
	{"one that does not finalize", 2, func(w *Comm, l *lines) {
		if w.Rank() == 1 {
			Recv(w, make([]byte, 1), 0, at(l, "recv", 0))
		}
	}, []string{"Finalize@- 1 of: collective 0 in world from [1] to []", "Recv@recv 1 of: receive queued 0 tag 0 1B in world"}, true},
	{"functions of the user's that are generic and inlined", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			via(w, l, float32(1))
		}
	}, []string{"Recv@via 1 of: receive queued 1 tag 2 4B in world", ""}, false},
	{"two goroutines", 2, func(w *Comm, l *lines) {
		if w.Rank() == 0 {
			var wg sync.WaitGroup
			wg.Go(func() { Recv(w, make([]byte, 1), 1, at(l, "b", 2)) })
			Recv(w, make([]byte, 1), 1, at(l, "a", 1))
			wg.Wait()
		}
	}, []string{"Recv@a 1 of: receive queued 1 tag 1 1B in world\nRecv@b 1 of: receive queued 1 tag 2 1B in world", ""}, false},
}

func via[T any](w *Comm, l *lines, v T) { via2(w, l, []T{v}) }

func via2[T any](w *Comm, l *lines, v []T) { Recv(w, v, 1, at(l, "via", 2)) }

func TestPending(t *testing.T) {
	for _, policy := range []string{"assist", "worker", "caller"} {
		t.Setenv("FITMPI_PROGRESS", policy)
		for _, s := range situations {
			if policy == "caller" && strings.Contains(strings.Join(s.want, ""), "message from") {
				continue // a rank that is in no call hears nothing
			}
			t.Run(policy+"/"+s.name, func(t *testing.T) {
				for r, got := range s.play(t) {
					if got != s.want[r] {
						t.Errorf("rank %d says:\n%s\nwant:\n%s", r, got, s.want[r])
					}
				}
			})
		}
	}
}
