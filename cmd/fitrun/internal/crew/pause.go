//go:build linux

package crew

import "syscall"

// A crew that is paused is stopped with the fitrun of the job, by the user (^Z). Its processes are
// not examined meanwhile, and what was seen of them before says nothing when they go on.

// Pause stops all processes, and those that are started from now on, until Continue. It uses
// SIGSTOP: a process group without a parent in its session, as that of a rank may be, is not
// stopped by SIGTSTP.
func (c *Crew) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = true
	for _, p := range c.procs {
		if p != nil {
			p.pause()
		}
	}
}

// Continue lets all processes go on.
func (c *Crew) Continue() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = false
	for _, p := range c.procs {
		if p != nil {
			p.goOn()
		}
	}
}

// add makes a process that has just been started part of the crew.
func (c *Crew) add(i int, p *process) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.procs[i] = p
	if c.paused {
		p.pause()
	}
}

func (p *process) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.paused = true
		syscall.Kill(-p.pid, syscall.SIGSTOP)
	}
}

func (p *process) goOn() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		p.paused, p.vigil = false, vigil{}
		syscall.Kill(-p.pid, syscall.SIGCONT)
	}
}
