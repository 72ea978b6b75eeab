//go:build linux

package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/internal/boot"
)

// Config says how a fleet is reached.
type Config struct {
	Way     Way
	FanOut  int           // most hosts that fitrun and each agent reach themselves, at least 1
	Silence time.Duration // a host that says nothing for so long is lost
	// Binary is the build of fitrun for an architecture. Its error says everything. It is called by
	// several goroutines, and must return soon when ctx ends.
	Binary func(ctx context.Context, arch string) (Binary, error)
	Guard  *crew.Guard // or nil
}

// Fleet is fitrun's view of all other hosts of a job. Its methods are called by one goroutine, but
// for Pause and Resume.
type Fleet struct {
	root    *node
	clients map[int]*Client // by host; immutable after NewFleet
	targets []Target
	cancel  context.CancelFunc

	dealt bool // the cards were sent

	inbox chan frame // facts and the like, before the job is started; room for all that clients let in
}

// HostError is a host that failed.
type HostError struct {
	Host string
	Why  string
}

func (e *HostError) Error() string { return fmt.Sprintf("host %s: %s", e.Host, e.Why) }

// lateText is why a host was not reached of which nothing else is known.
const lateText = "not reached in time"

// NewFleet makes a fleet of hosts, none of which is reached yet. Close ends it.
func NewFleet(targets []Target, cfg Config) *Fleet {
	f := &Fleet{clients: make(map[int]*Client), targets: targets, cancel: func() {}}
	f.inbox = make(chan frame, len(targets)*(maxEarly+1))
	f.root = &node{up: f.take, way: cfg.Way, fanOut: cfg.FanOut, silence: cfg.Silence, binary: cfg.Binary, guard: cfg.Guard}
	for _, t := range targets {
		f.clients[t.Host] = newClient(f, t)
	}
	return f
}

const (
	// maxPrograms is how many programs a job may have on one host.
	maxPrograms = 64
	// maxEarly is how many frames a host may send before the job is started, beside that of its
	// loss: facts and prepared, and stored for each program.
	maxEarly = 2 + maxPrograms
)

// Reach reaches all hosts within timeout, or fails: the error names a host and says why, or all
// that were not reached in time. reached is called as they are, with their number.
func (f *Fleet) Reach(ctx context.Context, timeout time.Duration, reached func(n int)) error {
	all, cancelAll := context.WithCancel(ctx)
	f.cancel = cancelAll
	limited, cancel := context.WithTimeout(all, timeout)
	f.root.reach(limited, f.targets)
	f.root.threads.Go(func() { // ends with the others
		<-limited.Done()
		cancel()
	})
	// The reaching itself ends at the same moment, and says what it knows; but a host behind one
	// that hangs says nothing.
	patience := time.NewTimer(timeout + 2*exitGrace)
	defer patience.Stop()
	late := make(map[int]string) // why, by host
	for n := 0; n+len(late) < len(f.targets); {
		select {
		case fr := <-f.inbox:
			c := f.clients[int(fr.host)]
			if fr.kind == kindLost && limited.Err() == context.DeadlineExceeded {
				late[c.target.Host] = c.failure(fr).Why
				continue
			}
			if fr.kind == kindLost {
				return c.failure(fr)
			}
			facts, err := unpack[Facts](fr)
			if err != nil || fr.kind != kindFacts || c.facts != nil {
				return c.strange(fr)
			}
			c.facts = &facts
			n++
			reached(n)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-patience.C:
			return f.missing(late)
		}
	}
	if len(late) > 0 {
		return f.missing(late)
	}
	return nil
}

// missing names the hosts that were not reached in time, each with what is known of why.
func (f *Fleet) missing(why map[int]string) error {
	var texts []string
	names := make(map[string][]string) // by text
	for _, t := range f.targets {
		if f.clients[t.Host].facts != nil && why[t.Host] == "" {
			continue
		}
		text := why[t.Host]
		if text == "" {
			text = lateText
		}
		if names[text] == nil {
			texts = append(texts, text)
		}
		names[text] = append(names[text], t.String())
	}
	var errs []string
	for _, text := range texts {
		errs = append(errs, (&HostError{strings.Join(names[text], ", "), text}).Error())
	}
	return errors.New(strings.Join(errs, "; "))
}

// Client is the view of one host.
func (f *Fleet) Client(host int) *Client { return f.clients[host] }

// sendTable sends all cards to all hosts, the first time.
func (f *Fleet) sendTable(table *boot.Cards) {
	if f.dealt {
		return
	}
	f.dealt = true
	all := table.Table()
	for first := 0; first < len(all); {
		n, size := 0, 0
		for first+n < len(all) && (n == 0 || size+len(all[first+n]) < 256<<10) {
			size += len(all[first+n])
			n++
		}
		f.root.down(frame{kindCards, everyHost, pack(kindCards, 0, cards{first, all[first : first+n]}).payload}, false)
		first += n
	}
}

// take takes a frame of some host.
func (f *Fleet) take(fr frame) error {
	if c := f.clients[int(fr.host)]; c != nil {
		return c.take(fr)
	}
	return nil
}

// Pause tells all hosts that this process is about to be stopped: its silence means nothing until
// Resume. What was sent before has left it then, or the host takes nothing for the moment.
func (f *Fleet) Pause() {
	var all sync.WaitGroup
	for _, b := range f.root.addressees(frame{host: everyHost}) {
		all.Go(b.conn.pause)
	}
	all.Wait()
}

// Resume tells all hosts that this process goes on.
func (f *Fleet) Resume() { f.root.down(frame{kindResume, everyHost, nil}, false) }

// PIDs are the processes by which hosts are reached.
func (f *Fleet) PIDs() []int { return f.root.pids() }

// Close ends the fleet: agents that still run end what they have started. It waits, but not for a
// host that is cut off.
func (f *Fleet) Close() {
	f.cancel()
	f.root.close()
}
