//go:build linux

package launch

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// A rank may order more ranks (boot.Order). They are a job of their own, with its own supervisor,
// crew and secret, beside that of the rank; on hosts, with agents of its own. The two end together:
// fitrun ends when both have, a job that fails ends those that it has spawned, and one that was
// spawned and fails ends the job that has spawned it, unless that goes on without its dead. They
// share the console, and messages about the spawned one begin with its name. What observes the
// first, and is given its trace, has a part for each of them (Observer.Spawned).

// kinship is what all jobs of one fitrun have in common: numbers of their ranks, see boot.Kin.
type kinship struct {
	root string       // see boot.Kin; immutable
	next atomic.Int64 // the number that the next rank gets
}

func newKinship(first *Job) *kinship {
	k := &kinship{root: hex.EncodeToString(first.Ranks[0].Job[:])}
	k.next.Store(int64(len(first.Ranks)))
	return k
}

// enter gives numbers to so many ranks of a job, and returns the first of them.
func (k *kinship) enter(ranks int) int { return int(k.next.Add(int64(ranks))) - ranks }

// brood is the jobs that a job has spawned. It belongs to the loop, but for what says otherwise.
type brood struct {
	ctx     context.Context // that of all of them
	end     context.CancelFunc
	made    int
	running int
	wait    sync.WaitGroup // for their goroutines

	mu    sync.Mutex
	inner []*runner // those that have begun and are not over; guarded by mu
}

// begun are the spawned jobs that have begun and are not over.
func (b *brood) begun() []*runner {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.inner)
}

// nests notes that a spawned job has begun, or is over. Nothing is noted where x is nil.
func (x *runner) nests(inner *runner, runs bool) {
	if x == nil {
		return
	}
	b := &x.brood
	b.mu.Lock()
	defer b.mu.Unlock()
	if runs {
		b.inner = append(b.inner, inner)
	} else {
		b.inner = slices.DeleteFunc(b.inner, func(y *runner) bool { return y == inner })
	}
}

// lost implements hands. Ranks of the jobs beside this one may be connected with those that failed.
func (x *runner) lost(evs []boot.Event) {
	var foreign []boot.Event
	for _, ev := range evs {
		ev.Kind, ev.Job = boot.ForeignFailed, x.job.Ranks[ev.Rank].Job
		foreign = append(foreign, ev)
	}
	x.pass(foreign, nil)
}

// pass tells the jobs beside this one, but for that from which it was heard. Each passes it on.
func (x *runner) pass(evs []boot.Event, from *runner) {
	beside := x.brood.begun()
	if x.cfg.outer != nil {
		beside = append(beside, x.cfg.outer)
	}
	for _, y := range beside {
		if y == from {
			continue
		}
		x.brood.wait.Go(func() { // not here: that loop may be about to tell this one something; ends with it at the latest
			y.post(func(time.Time) {
				y.sup.tellAll(evs)
				y.pass(evs, x)
			})
		})
	}
}

// errEnded is why a spawned job ends that has not failed.
var errEnded = errors.New("the job that has spawned it ends")

// spawn implements hands: it starts what a rank orders.
func (x *runner) spawn(rank, number int, data []byte) {
	answer := func(problem string) {
		x.tell(rank, boot.Event{Kind: boot.Spawned, Rank: -1, Code: number, Message: problem})
	}
	order, err := boot.ReadOrder(data)
	switch {
	case err != nil:
		answer(err.Error())
		return
	case x.cfg.origin == nil || x.sup.state != jobRunning:
		answer("the job is ending")
		return
	}
	b := &x.brood
	if b.ctx == nil {
		b.ctx, b.end = context.WithCancel(context.Background())
	}
	b.made++
	b.running++
	kin := fmt.Sprint(b.made)
	if own := x.job.Kin.Name; own != "" {
		kin = own + "." + kin
	}
	n := &nested{outer: x, kin: kin, name: "spawned " + kin, order: order, app: x.job.Processes[x.job.Ranks[rank].proc].app, answer: answer}
	b.wait.Go(func() { // ends with the job, at the latest when ctx does
		out := n.run(b.ctx)
		x.post(func(now time.Time) { x.spawnedOver(now, n, out) })
	})
}

// spawnedOver is called when a spawned job is over.
func (x *runner) spawnedOver(now time.Time, n *nested, out outcome) {
	x.brood.running--
	if out.code != 0 && x.brood.ctx.Err() == nil {
		x.sup.spawnedFailed(now, out, fmt.Sprintf("%s failed, with exit code %d", n.name, out.code))
	}
}

// rein ends the spawned jobs if this one ends before it is done.
func (x *runner) rein() {
	s := x.sup
	if x.brood.running == 0 || x.brood.ctx.Err() != nil {
		return
	}
	if s.stopped || s.state == jobEnding || s.state == jobKilling || s.isOver() && s.exitCode() != 0 && !s.hasFT() {
		x.brood.end()
	}
}

// spawnedFailed is called when a job that this one has spawned has failed.
func (s *supervisor) spawnedFailed(now time.Time, out outcome, text string) {
	code := out.code
	switch {
	case s.hasFT(): // its ranks hear of it by their connections
		s.verdict = cmp.Or(s.verdict, out.left)
	case s.state == jobRunning:
		s.failedOf(text)
		s.do.say(text + "; the job was ended")
		s.code = code
		s.end(now, failGrace, boot.Event{Kind: boot.JobAborted, Rank: -1, Message: text, Code: code})
	case s.isOver() && s.code == 0:
		s.failedOf(text)
		s.code = code
	}
}

// endedFromOutside is called when the job that has spawned this one ends.
func (s *supervisor) endedFromOutside(now time.Time) {
	if s.state != jobRunning {
		return
	}
	s.stopped, s.code = true, ExitError
	s.end(now, failGrace, boot.Event{Kind: boot.JobAborted, Rank: -1, Message: errEnded.Error(), Code: s.code})
}

// nested is a spawned job.
type nested struct {
	outer *runner
	kin   string // boot.Kin.Name
	name  string // for messages
	order *boot.Order
	app   int // which program of its job the rank runs that has ordered it

	once   sync.Once
	answer func(problem string) // to the rank that has ordered it; in the loop of outer
}

// tell lets the rank that has ordered the job know what came of it, the first time.
func (n *nested) tell(problem string) {
	n.once.Do(func() { n.outer.post(func(time.Time) { n.answer(problem) }) })
}

// run runs the job to its end.
func (n *nested) run(ctx context.Context) outcome {
	dir, r, err := n.request(ctx)
	if dir != "" {
		defer os.RemoveAll(dir)
	}
	if err != nil {
		n.tell(err.Error())
		return outcome{}
	}
	out := executeOnce(ctx, r, n.config())
	if out.refused != "" {
		n.tell(out.refused)
		return outcome{}
	}
	n.tell(fmt.Sprintf("%s has ended before all its ranks were in Init, with exit code %d", n.name, out.code))
	return out
}

// config is the surroundings of the job.
func (n *nested) config() Config {
	x := n.outer
	cfg := Config{
		Stdout: x.cfg.Stdout, Stderr: x.cfg.Stderr, Tag: x.cfg.Tag, Timestamp: x.cfg.Timestamp, Verbose: x.cfg.Verbose, Bindings: x.cfg.Bindings, Guard: x.cfg.Guard,
		Tracer: x.cfg.Tracer, kin: x.cfg.kin, outer: x, name: n.name, met: func() { n.tell("") },
	}
	if x.cfg.Observer != nil {
		cfg.Observer = x.cfg.Observer.Spawned()
	}
	if x.cfg.OutputDir != "" {
		cfg.OutputDir = filepath.Join(x.cfg.OutputDir, strings.ReplaceAll(n.name, " ", "-"))
	}
	return cfg
}

// request is what the order asks for: as the job of the rank that gives it, with other programs.
// dir is a directory of programs that were built, which is the caller's to remove; "" if none was.
func (n *nested) request(ctx context.Context) (dir string, r Request, err error) {
	origin := n.outer.cfg.origin
	r = *origin
	r.Apps, r.Restarts, r.Attempt, r.Timeout, r.Bind, r.Checkpoint = nil, 0, 0, 0, BindNone, ""
	r.Beside += origin.Ranks()
	var groups []hosts.Group
	for _, p := range n.order.Programs {
		app := App{Args: p.Args, Set: n.variables(), Dir: p.Dir, SearchPath: p.Path, Ranks: p.Ranks}
		if app.Program, err = FindProgramIn(p.Args[0], p.Path); err != nil {
			return dir, r, err
		}
		if app.Libraries, err = FindCLibrary(app.Program, app.Set); err != nil {
			return dir, r, err
		}
		if app.Program.Package != "" {
			if dir == "" {
				if dir, err = crew.TempDir(); err != nil {
					return "", r, err
				}
				n.outer.cfg.Guard.Temp(dir)
			}
			if app.Program.Path, err = buildOrdered(ctx, app.Program, filepath.Join(dir, fmt.Sprint(len(r.Apps)))); err != nil {
				return dir, r, err
			}
		}
		r.Apps, groups = append(r.Apps, app), append(groups, hosts.Group{Ranks: p.Ranks})
	}
	r.Kin = boot.Kin{Name: n.kin, First: n.outer.cfg.kin.enter(r.Ranks()), Root: n.outer.cfg.kin.root}
	r.Metrics = withPortsTo(r.Metrics, r.Kin.First+r.Ranks()-1)
	if err = n.place(&r, groups); err != nil {
		return dir, r, err
	}
	return dir, r, n.reach(&r)
}

// errLoopback is why ranks of one machine cannot spawn others elsewhere.
var errLoopback = errors.New("the ranks that spawn are on one host and listen at its loopback address only, where those on other hosts cannot reach them: " +
	"name all hosts when the job is started (-H, --hostfile), or the network (--iface)")

// reach has the ranks listen where those that spawn them reach them, if those can be reached.
func (n *nested) reach(r *Request) error {
	keys := r.keys()
	for k := range n.outer.cfg.origin.keys() {
		keys[k] = true
	}
	isRemote := n.outer.job.Ranks[0].Net.Remote
	if len(keys) > 1 && !isRemote && r.Net.Interface == "" && !hasVariable(slices.Concat(r.Env, r.Apps[0].Set), "FITMPI_IFACE") {
		return errLoopback
	}
	r.Net.Remote = isRemote || len(keys) > 1
	return nil
}

// withPortsTo is addr, as of Request.Metrics, or any port of the same host where there is none for
// the rank of a number: ports are counted for all ranks that fitrun ever starts.
func withPortsTo(addr string, number int) string {
	if _, err := metricsAddr(addr, number); err == nil {
		return addr
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr // what is wrong with it is said where it is used
	}
	return net.JoinHostPort(host, "0")
}

// variables are those of the ranks, on top of the environment: what the rank that orders them was
// given, and where they find it.
func (n *nested) variables() []string {
	set := slices.DeleteFunc(slices.Clone(n.outer.cfg.origin.Apps[n.app].Set), func(e string) bool {
		return strings.HasPrefix(e, boot.ParentVariable+"=") // it was spawned itself
	})
	return append(set, boot.ParentVariable+"="+n.order.Parent)
}

// buildOrdered builds the Go package of an order into dir. What the go command says is in the
// error.
func buildOrdered(ctx context.Context, p Program, dir string) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	var said strings.Builder
	path, err := buildFor(ctx, p, "", dir, &said, io.Discard)
	if errors.Is(err, ErrBuild) {
		err = fmt.Errorf("%s does not build: %s", p.Name, strings.TrimSpace(said.String()))
	}
	return path, err
}

// place divides the ranks among the hosts that the order names, or else those of the job that gives
// it, where slots that its ranks hold are taken.
func (n *nested) place(r *Request, groups []hosts.Group) (err error) {
	p := n.order.Programs[0]
	for _, q := range n.order.Programs {
		if q.Hosts != p.Hosts || q.HostFile != p.HostFile {
			return errors.New("all programs that are spawned at once need the same hosts")
		}
	}
	switch {
	case p.Hosts != "":
		r.Hosts, err = hosts.Parse(p.Hosts)
	case p.HostFile != "":
		r.Hosts, err = readHosts(p.HostFile)
	case r.Hosts != nil:
		r.Hosts = without(r.Hosts, r.Place)
	}
	if err != nil || r.Hosts == nil {
		r.Place = nil
		return err
	}
	r.Place, _, err = hosts.Place(r.Hosts, hosts.Policy{Oversubscribe: true}, groups)
	return err
}

func readHosts(name string) ([]hosts.Host, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return hosts.ReadFile(name, f)
}

// without is hosts with fewer slots: those where no rank is placed. Where none is left, it is all
// of them again.
func without(all []hosts.Host, place []int) []hosts.Host {
	free := slices.Clone(all)
	left := 0
	for i := range free {
		taken := 0
		for _, at := range place {
			if at == i {
				taken++
			}
		}
		free[i].Slots = max(free[i].Slots-taken, 0)
		left += free[i].Slots
	}
	if left == 0 {
		return all
	}
	return slices.DeleteFunc(free, func(h hosts.Host) bool { return h.Slots == 0 })
}

// prefix is what names and messages of this job begin with; empty unless it was spawned.
func (c *Config) prefix() string {
	if c.name == "" {
		return ""
	}
	return c.name + ": "
}
