//go:build linux

package crew

import (
	"slices"
	"syscall"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// Condition is what a process was found to do when the crew looked at it: because nothing is heard
// of its ranks, or as a part of its vigil.
type Condition struct {
	Gone    bool           // it is on its way out, or was reaped; its exit is or will be reported
	Paused  bool           // it is stopped with all of the crew, by Crew.Pause, which says nothing of it
	Stopped bool           // by a signal
	Signal  syscall.Signal // that one, 0 if it is not known
	Tracer  int            // process that traces it, a debugger mostly, or 0: then it may be silent as long as that likes
	Idle    time.Duration  // for how long, at least, it has neither run on a processor nor waited for one; 0 if there is no vigil
}

// Examine looks at a process. The leader hears what was found by Examined, soon; nothing if the
// process was not started.
func (c *Crew) Examine(proc int) {
	if p := c.process(proc); p != nil {
		c.threads.Go(func() { c.to.Examined(proc, p.look()) }) // ends at once
	}
}

// look finds out what the process does, and what those of its descendants do that have joined the
// job in its place.
func (p *process) look() Condition {
	p.mu.Lock()
	defer p.mu.Unlock() // as long as it is not reaped its number, and that of its group, is its own
	switch {
	case p.reaped:
		return Condition{Gone: true}
	case p.paused:
		return Condition{Paused: true}
	}
	return p.lookLocked(0)
}

// lookLocked is look; so much of the vigil has passed since the last one.
func (p *process) lookLocked(passed time.Duration) Condition {
	found := conditionOf(p.pid)
	for _, pid := range p.inPlace() {
		if found == (Condition{}) {
			found = conditionOf(pid)
		}
	}
	found.Idle = p.vigil.Look(p.runners(), passed)
	return found
}

// inPlace returns the descendants of p that have joined the job in its place.
func (p *process) inPlace() (pids []int) {
	for i := range p.joined {
		pid := int(p.joined[i].Load())
		if pid == 0 || pid == p.pid || slices.Contains(pids, pid) {
			continue
		}
		if group, err := syscall.Getpgid(pid); err == nil && group == p.pid { // else it may count processes in another way
			pids = append(pids, pid)
		}
	}
	return pids
}

// runners returns the processes that have the ranks of p.
func (p *process) runners() []int {
	if pids := p.inPlace(); len(pids) > 0 {
		return pids
	}
	return []int{p.pid}
}

func conditionOf(pid int) Condition {
	s := sys.StateOf(pid)
	c := Condition{Gone: s.Gone, Stopped: s.Stopped, Tracer: s.Tracer}
	if s.Stopped {
		c.Signal = sys.StopSignal(pid)
	}
	return c
}

// noteJoined keeps which process the k-th rank of p says that it is.
func (p *process) noteJoined(k int, n boot.Notice) {
	if n.Kind == boot.Joined {
		p.joined[k].Store(int64(n.PID))
	}
}
