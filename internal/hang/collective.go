package hang

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/internal/telemetry"
)

// Collective is one collective on a communicator, in which at least one rank waits.
type Collective struct {
	Comm   string // name of the communicator
	Number int    // which one it is on the communicator
	In     []Part // the ranks that are in it, by what they call it there
	// Missing are ranks for which others in it wait, and that have not come to it.
	Missing []int `json:",omitempty"`
	// Mixed says that the ranks are in different collectives, which are each other's by their
	// order.
	Mixed bool `json:",omitempty"`
	// Complete says that all ranks of the communicator are in it.
	Complete bool `json:",omitempty"`
}

// Part is ranks that are in a collective in the same way.
type Part struct {
	Op    string
	At    string
	Ranks []int
}

// instance is a collective: where, and which.
type instance struct {
	comm uint64
	job  string // of its ranks; "" as well if the communicator has ranks of several
	tag  int
}

// joined is an operation of a rank that is part of a collective.
type joined struct {
	rank int
	op   *telemetry.Operation
	comm *telemetry.Comm // nil if it does not say
}

// collectives are those in which ranks wait, by communicator and number. Finalize is none of them:
// it has its own words.
func collectives(j *Job) []Collective {
	in := make(map[instance][]joined)
	for r := range j.Ranks {
		p := j.Ranks[r].pending()
		if p == nil {
			continue
		}
		comms := commsOf(p)
		for i := range p.Operations {
			if op := &p.Operations[i]; op.Kind == telemetry.Collective && op.Op != finalizeOp {
				at := instance{op.Comm, j.jobOf(r, comms[op.Comm]), op.Tag}
				in[at] = append(in[at], joined{r, op, comms[op.Comm]})
			}
		}
	}
	var cs []Collective
	for at, parts := range in {
		cs = append(cs, newCollective(j, at, parts))
	}
	slices.SortFunc(cs, func(a, b Collective) int {
		return cmp.Or(cmp.Compare(a.In[0].Ranks[0], b.In[0].Ranks[0]), cmp.Compare(a.Comm, b.Comm), cmp.Compare(a.Number, b.Number))
	})
	return cs
}

func newCollective(j *Job, at instance, parts []joined) Collective {
	c := Collective{Number: at.tag, Comm: commName(parts[0].comm, at.comm)}
	isIn := make(map[int]bool)
	var awaited []int
	for _, p := range parts {
		isIn[p.rank] = true
		awaited = append(append(awaited, p.op.From...), p.op.To...)
		c.add(p)
		c.Mixed = c.Mixed || !isSame(p.op.Op, parts[0].op.Op)
	}
	slices.Sort(awaited)
	for _, r := range slices.Compact(awaited) {
		if !isIn[r] && r >= 0 && r < len(j.Ranks) && j.Ranks[r].pending() != nil {
			c.Missing = append(c.Missing, r)
		}
	}
	c.Complete = len(isIn) == len(members(j, parts[0].rank, parts[0].comm))
	return c
}

// add adds a rank, which is greater than those before.
func (c *Collective) add(p joined) {
	for i := range c.In {
		if c.In[i].Op == p.op.Op && c.In[i].At == p.op.At {
			if last := len(c.In[i].Ranks) - 1; c.In[i].Ranks[last] != p.rank {
				c.In[i].Ranks = append(c.In[i].Ranks, p.rank)
			}
			return
		}
	}
	c.In = append(c.In, Part{p.op.Op, p.op.At, []int{p.rank}})
}

// members are the ranks of a communicator that rank r has.
func members(j *Job, r int, c *telemetry.Comm) (all []int) {
	if c != nil && c.Ranks != nil {
		return c.Ranks
	}
	for q := range j.Ranks {
		if j.Ranks[q].Job == j.Ranks[r].Job {
			all = append(all, q)
		}
	}
	return all
}

// jobOf is the job in which a communicator of rank r is: jobs call theirs by the same contexts, but
// for those with ranks of several jobs, which are of none.
func (j *Job) jobOf(r int, c *telemetry.Comm) string {
	job := j.Ranks[r].Job
	other := func(q int) bool { return q < 0 || q >= len(j.Ranks) || j.Ranks[q].Job != job }
	if c != nil && (slices.ContainsFunc(c.Ranks, other) || slices.ContainsFunc(c.Remote, other)) {
		return ""
	}
	return job
}

// isSame reports whether two names may be those of the same collective, perhaps of its nonblocking
// or persistent form.
func isSame(a, b string) bool { return formless(a) == formless(b) }

// formless is the name of a collective without what says which form of it is called.
func formless(op string) string {
	op = strings.TrimSuffix(op, "Init")
	if len(op) > 1 && op[0] == 'I' && op[1] >= 'a' && op[1] <= 'z' {
		op = op[1:]
	}
	return strings.ToLower(op)
}

// commName is how a communicator is called.
func commName(c *telemetry.Comm, context uint64) string {
	if c != nil && c.Name != "" {
		return c.Name
	}
	return "communicator " + hex(context)
}
