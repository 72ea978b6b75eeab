package mpi

import (
	"context"
	"errors"
	"sync"

	"github.com/fitmpi/fitmpi/internal/names"
)

// published is the names that a rank has published.
type published struct {
	mu    sync.Mutex
	names map[string]bool // guarded by mu
}

func (p *published) note(service string, yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.names == nil {
		p.names = make(map[string]bool)
	}
	if p.names[service] = yes; !yes {
		delete(p.names, service)
	}
}

// takeBack unpublishes what is left.
func (p *published) takeBack(s names.Store) {
	p.mu.Lock()
	left := p.names
	p.names = nil
	p.mu.Unlock()
	for service := range left {
		_ = s.Unpublish(context.Background(), service) // what is not found is not there
	}
}

// names is where ports are published.
func (j *job) names() names.Store { return names.Of(j.set.nameserver) }

// within is the context of what c waits for outside the engine.
func (c *Comm) within() context.Context {
	if c.ctx != nil {
		return c.ctx
	}
	return c.job.ctx
}

// PublishName makes a port known to other jobs under the name of a service. Jobs of the same user
// on the same host find it; with a server, fitrun nameserver, which FITMPI_NAMESERVER names, those
// on any host that are given the same server. It holds until UnpublishName, and no longer than to
// Finalize. A name that is taken is an error of class ErrService. info is for hints and may be nil;
// none are known. It is local (MPI 4.1, section 11.9.4).
func (c *Comm) PublishName(service, port string, info *Info) (err error) {
	defer c.begin("PublishName").endAt(&err)
	const op = "PublishName"
	if err := c.usable(op); err != nil {
		return c.fail(err)
	}
	if err := c.job.names().Publish(c.within(), service, port); err != nil {
		return c.fail(opError(nameClass(err, ErrService), op, err))
	}
	c.job.published.note(service, true)
	return nil
}

// LookupName is the port that is published under the name of a service. That there is none is an
// error of class ErrName. info is for hints and may be nil; none are known. It is local (MPI 4.1,
// section 11.9.4).
func (c *Comm) LookupName(service string, info *Info) (port string, err error) {
	defer c.begin("LookupName").endAt(&err)
	const op = "LookupName"
	if err := c.usable(op); err != nil {
		return "", c.fail(err)
	}
	port, bad := c.job.names().Lookup(c.within(), service)
	if bad != nil {
		return "", c.fail(opError(nameClass(bad, ErrName), op, bad))
	}
	return port, nil
}

// UnpublishName takes back what PublishName of this process has published. That there is nothing is
// an error of class ErrService. info is for hints and may be nil; none are known. It is local (MPI
// 4.1, section 11.9.4).
func (c *Comm) UnpublishName(service string, info *Info) (err error) {
	defer c.begin("UnpublishName").endAt(&err)
	const op = "UnpublishName"
	if err := c.usable(op); err != nil {
		return c.fail(err)
	}
	if err := c.job.names().Unpublish(c.within(), service); err != nil {
		return c.fail(opError(nameClass(err, ErrService), op, err))
	}
	c.job.published.note(service, false)
	return nil
}

// nameClass is the class of an error of names: missing if it is about the name.
func nameClass(err error, missing ErrorClass) ErrorClass {
	if errors.Is(err, names.ErrUnknown) || errors.Is(err, names.ErrTaken) {
		return missing
	}
	return ErrOther
}
