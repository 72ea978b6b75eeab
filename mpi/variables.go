//go:build linux

package mpi

import (
	"cmp"
	"os"
	"sync"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/params"
)

// Variable is one parameter of a rank: what MPI calls a control variable (MPI 4.1, section 15.3.6).
// It is set by an environment variable, by an option of fitrun, or by nothing, and does not change
// once the rank has joined its job.
type Variable struct {
	Name    string // of the environment variable, such as "FITMPI_EAGER_MAX"
	Group   string // what it is about, such as "messages"; MPI's category
	Text    string // what it is for
	Kind    string // of its values: "choice", "size", "duration", "switch", "number" or "text"
	Allowed string // which values it takes, for people
	Default string // what holds without it, as a value or in words
	Alike   bool   // all ranks of a job need the same

	Value  string // in force at this rank, as it could be written into the environment; "" if Default, in words, is all that can be said
	Origin string // what has chosen it: "default", "automatic" (by the machine and the job), "environment", "launcher", or fitrun's option for it
}

// Variables returns all parameters of the calling rank, with the values that are in force at it and
// where these come from, in the order of docs/CONFIG.md, which explains them. c is any communicator
// of the rank. It is what fitrun --print-config says before a job, seen from inside one. It does
// not block, and may be called after Finalize (MPI 4.1, section 15.3.6, MPI_T_cvar_get_info and
// MPI_T_cvar_read).
func Variables(c *Comm) []Variable {
	e := c.job.engine.InForce()
	var all []Variable
	for _, p := range params.Of(params.Rank) {
		all = append(all, c.job.set.variable(&p, &e))
	}
	return all
}

func (set *settings) variable(p *params.Variable, e *engine.Config) Variable {
	origin := originDefault
	if p.Auto {
		origin = originAutomatic
	}
	return Variable{
		Name: p.Name, Group: string(p.Group), Text: p.Text, Kind: string(p.Kind), Allowed: p.Allowed(), Default: p.Default, Alike: p.Alike,
		Value: takers[p.Name].get(set, e), Origin: cmp.Or(set.origins[p.Name], origin),
	}
}

// warned are the warnings that this process has given: by text.
var warned sync.Map

// warnUnknown warns once in a job of variables that look like ours and are none. Of a job of
// fitrun's, fitrun has done so.
func (j *job) warnUnknown(info boot.Info) {
	if info.Rank != 0 || info.Source == "fitrun" {
		return
	}
	for _, text := range params.Unknown(os.Environ()) {
		if _, again := warned.LoadOrStore(text, true); !again {
			j.logger.Warn(text)
		}
	}
}
