package mpi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/port"
)

// SpawnProgram is one of the programs that SpawnMultiple starts.
type SpawnProgram struct {
	Command string   // a binary, or a Go package, as fitrun takes it; a relative path is from where the calling rank is
	Args    []string // without the program's name
	Ranks   int      // how many of it; at least 1
	// Info is where and how, and may be nil: "wdir" is the directory in which its ranks begin,
	// "path" directories in which to look for the program, before PATH, with colons between them,
	// "host" the hosts that may be used, as of fitrun -H, and "hostfile" a file of them. These two
	// are the same for all programs. Other keys are ignored.
	Info *Info
}

// The keys of Info that Spawn knows (MPI 4.1, section 11.8.4).
const (
	keyWdir     = "wdir"
	keyPath     = "path"
	keyHost     = "host"
	keyHostfile = "hostfile"
)

// Spawn starts n more ranks of a program and makes an intercommunicator with them: c's ranks are
// the local group. The new ranks are a job of their own, with a world of their own. They get the
// other end of the intercommunicator from Parent. command, args, n and info are as in
// [SpawnProgram], and matter at the rank root only. It returns when the new ranks are in Init.
//
// fitrun starts them, on the hosts of this job unless info names others, and ends with the last of
// both jobs. One that fails ends the other, unless the job goes on without ranks that die. Under
// another launcher Spawn fails. What cannot be started is an error of class ErrSpawn at all ranks
// of c, and then nothing was started. Collective (MPI 4.1, section 11.8.2, MPI_Comm_spawn).
func (c *Comm) Spawn(command string, args []string, n, root int, info *Info) (newcomm *Comm, err error) {
	defer c.begin("Spawn").endMade(&newcomm, &err)
	return c.spawn("Spawn", []SpawnProgram{{Command: command, Args: args, Ranks: n, Info: info}}, root)
}

// SpawnMultiple is Spawn of several programs as one job: the ranks of the first come first in its
// world. Each finds out by the process set of its program which it is, or by its arguments.
// Collective (MPI 4.1, section 11.8.3, MPI_Comm_spawn_multiple).
func (c *Comm) SpawnMultiple(programs []SpawnProgram, root int) (newcomm *Comm, err error) {
	defer c.begin("SpawnMultiple").endMade(&newcomm, &err)
	return c.spawn("SpawnMultiple", programs, root)
}

// Parent is the intercommunicator with the ranks that have spawned those of c's world, which are
// the remote group. It is nil if the job was not spawned, and when that communicator was
// disconnected or freed. It is local (MPI 4.1, section 11.8.2, MPI_Comm_get_parent).
func (c *Comm) Parent() *Comm {
	if p := c.job.parent; p != nil && !p.freed.Load() {
		return p
	}
	return nil
}

func (c *Comm) spawn(op string, programs []SpawnProgram, root int) (*Comm, error) {
	var name string
	defer func() {
		if name != "" {
			_ = c.job.ports.close(name) // it is open
		}
	}()
	return c.meetJob(op, root, ErrSpawn, func(ctx context.Context) (*port.Link, error) {
		order, err := orderOf(programs)
		if err != nil {
			return nil, err
		}
		if name, err = c.job.openPort(); err != nil {
			return nil, err
		}
		order.Parent = name
		if err := boot.Spawn(ctx, c.job.session, order); err != nil {
			return nil, err
		}
		p, err := c.job.ports.find(name)
		if err != nil {
			return nil, err
		}
		return p.Accept(ctx)
	})
}

// orderOf is what the launcher is asked for.
func orderOf(programs []SpawnProgram) (*boot.Order, error) {
	if len(programs) == 0 {
		return nil, errors.New("no program is given")
	}
	order := &boot.Order{}
	for _, p := range programs {
		if p.Ranks < 1 {
			return nil, fmt.Errorf("%d ranks of %q: need at least 1", p.Ranks, p.Command)
		}
		command, err := commandFrom(p.Command)
		if err != nil {
			return nil, err
		}
		o := boot.OrderedProgram{Args: append([]string{command}, p.Args...), Ranks: p.Ranks}
		for _, k := range []struct {
			key  string
			to   *string
			path bool
		}{{keyWdir, &o.Dir, true}, {keyPath, &o.Path, false}, {keyHost, &o.Hosts, false}, {keyHostfile, &o.HostFile, true}} {
			value, ok := p.Info.Get(k.key)
			if ok && k.path {
				if value, err = filepath.Abs(value); err != nil {
					return nil, err
				}
			}
			*k.to = value
		}
		if o.Dir == "" {
			if o.Dir, err = os.Getwd(); err != nil {
				return nil, err
			}
		}
		order.Programs = append(order.Programs, o)
	}
	return order, nil
}

// commandFrom makes a relative path of something that is here absolute: the launcher may have begun
// in another directory. What has no slash is looked for in PATH, and what is not here may be the
// import path of a package.
func commandFrom(command string) (string, error) {
	if command == "" {
		return "", errors.New("the program's name is empty")
	}
	if strings.HasPrefix(command, "/proc/self/") { // which is another program for the launcher
		return filepath.EvalSymlinks(command)
	}
	if filepath.IsAbs(command) || !strings.ContainsRune(command, '/') && command != "." && command != ".." {
		return command, nil
	}
	abs, err := filepath.Abs(command)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(abs); err == nil || strings.HasPrefix(command, ".") {
		return abs, nil
	}
	return command, nil
}

// meetParent connects a job that was spawned with the one that has spawned it. It is collective
// over the world, which need not be open.
func (j *job) meetParent(ctx context.Context, name string) error {
	w := j.world
	room := newComm(j, new(scope), w.Name(), w.rank, w.group, contextID(0, contextParent))
	room.ctx = ctx
	room.SetErrhandler(ErrorsReturn)
	parent, err := room.meetJob("Init", 0, ErrSpawn, func(ctx context.Context) (*port.Link, error) { return port.Dial(ctx, name) })
	if err != nil {
		return fmt.Errorf("meeting the ranks that have spawned this one: %w", err)
	}
	parent.rename("parent")
	for _, c := range []*Comm{parent, parent.inner, parent.both} {
		c.scope, c.ctx = w.scope, nil
	}
	parent.errh.Store(w.errh.Load())
	j.parent = parent
	return nil
}
