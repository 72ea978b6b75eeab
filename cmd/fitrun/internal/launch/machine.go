//go:build linux

package launch

import (
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// Several hosts of a job may be one machine: two names of it, or containers. Its cores are there
// once, by whatever name.

// crowd is what shares the cores of a site: ranks of all sites of the machine that may use the same
// processors.
type crowd struct {
	ranks   int    // all of them
	before  []int  // sites that come before this one, and have ranks among them
	first   int    // the first site that may use some of the processors: this one, if none of those before does
	odd     string // a site of the machine that may use some of the processors and not the same, "" if there is none
	oddCPUs []int  // of it
}

// findCrowds finds those of all sites.
func (p *planner) findCrowds() []crowd {
	on := make(map[string][]int) // by machine
	for i, s := range p.sites {
		on[s.machine] = append(on[s.machine], i)
	}
	crowds := make([]crowd, len(p.sites))
	for i, s := range p.sites {
		crowds[i] = crowd{ranks: len(p.local[i]) + p.r.Beside, first: i}
		if s.machine != "" {
			crowds[i] = p.crowd(i, on[s.machine])
		}
	}
	return crowds
}

// crowd is that of a site, of which all are the sites of the machine.
func (p *planner) crowd(at int, all []int) crowd {
	own := &p.sites[at]
	c := crowd{ranks: len(p.local[at]), first: at}
	for _, i := range all {
		s := &p.sites[i]
		if i == at {
			continue
		}
		if len(s.cpus) > 0 && !slices.ContainsFunc(s.cpus, func(cpu int) bool { return slices.Contains(own.cpus, cpu) }) {
			continue
		}
		c.first = min(c.first, i)
		switch n := len(p.local[i]); {
		case !slices.Equal(s.cpus, own.cpus) && n > 0:
			c.odd, c.oddCPUs = s.name, s.cpus
			c.ranks += n // at worst
		case i < at:
			c.before = append(c.before, i)
			c.ranks += n
		default:
			c.ranks += n
		}
	}
	return c
}

// home is where ranks of a host are, and what they find there.
type home struct {
	machine, place, dir, domain string
	mark                        string   // of fitrun or its agent there
	sees                        []string // the marks of others that are there
	env                         []string // sorted; nil is any
	cpus                        []int    // that ranks may use there; nil is any
	cores                       int      // so many of them; 0 is any
}

// isSame reports whether ranks of h could as well be of o. That the one sees the other is asked for
// because virtual machines that were made of the memory of one have all else in common.
func (h *home) isSame(o *home) bool {
	return h.machine != "" && h.place != "" && h.machine == o.machine && h.place == o.place && h.dir == o.dir && h.domain == o.domain &&
		(h.mark != "" && slices.Contains(o.sees, h.mark) || o.mark != "" && slices.Contains(h.sees, o.mark)) &&
		(h.env == nil || o.env == nil || slices.Equal(h.env, o.env)) &&
		(h.cpus == nil || o.cpus == nil || slices.Equal(h.cpus, o.cpus)) && (h.cores == 0 || o.cores == 0 || h.cores == o.cores)
}

// homeOf is that of a used host. A user that names this machine by another name, which ssh knows,
// wants this machine, with the environment and the processors that its ranks have. Two names of
// another machine may differ: ssh may be told to give each variables of its own, and each may be an
// sshd that was given a part of the processors.
func (a *across) homeOf(i int) home {
	if a.local[i] {
		return home{machine: sys.BootID(), place: sys.Place(), dir: a.variable("HOME"), domain: a.used[i].Domain, mark: sys.Mark(), sees: sys.Marks()}
	}
	f := a.agentOf(i).Facts()
	return home{f.BootID, f.Place, f.Home, a.used[i].Domain, f.Mark, f.Marks, lasting(f.Env), f.CPUs, f.Cores}
}

// lasting is the variables of a host that are not of one connection to it.
func lasting(env []string) []string {
	kept := slices.DeleteFunc(append([]string{}, env...), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		return strings.HasPrefix(name, "SSH_") || strings.HasPrefix(name, "XDG_SESSION_") || slices.Contains([]string{"_", "SHLVL", "DISPLAY"}, name)
	})
	slices.Sort(kept)
	return kept
}

// mergeNames looks for hosts that are one under several names. It makes their ranks those of one
// name, this machine's if it is among them. Then one agent, or fitrun itself, starts them all, and
// they share memory as ranks of one host do. Agents of the other names are idle.
func (a *across) mergeNames() {
	order := make([]int, 0, len(a.used)) // this machine first
	for i := range a.used {
		if a.local[i] {
			order = append(order, i)
		}
	}
	for i := range a.used {
		if !a.local[i] {
			order = append(order, i)
		}
	}
	homes, into := make([]home, len(a.used)), make([]int, len(a.used))
	var firsts []int
	for _, i := range order {
		homes[i], into[i] = a.homeOf(i), i
		if k := slices.IndexFunc(firsts, func(f int) bool { return homes[i].isSame(&homes[f]) }); k >= 0 {
			into[i] = firsts[k]
			a.tellMerged(i, firsts[k])
		} else {
			firsts = append(firsts, i)
		}
	}
	slices.Sort(firsts)
	for rank, at := range a.r.Place {
		a.r.Place[rank], _ = slices.BinarySearch(firsts, into[at])
	}
	a.used, a.local, a.client = picked(a.used, firsts), picked(a.local, firsts), picked(a.client, firsts)
}

// tellMerged says with --verbose that a used host is another one.
func (a *across) tellMerged(i, first int) {
	if a.cfg.Verbose {
		a.say("host %s is %s by another name: its ranks are started there, and share its cores and memory", a.used[i], a.used[first])
	}
}

// picked is what of s has these indices.
func picked[T any](s []T, indices []int) []T {
	var p []T
	for _, i := range indices {
		p = append(p, s[i])
	}
	return p
}

// variable is the value of a variable of the environment here.
func (a *across) variable(name string) string {
	for _, e := range slices.Backward(a.r.Env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// tellMachines says with --verbose which hosts are one machine, and what they have in common.
func (a *across) tellMachines(sites []site) {
	if !a.cfg.Verbose {
		return
	}
	names := make(map[string][]string) // by machine
	for _, s := range sites {
		names[s.machine] = append(names[s.machine], s.name)
	}
	for _, s := range sites {
		if all := names[s.machine]; s.machine != "" && len(all) > 1 && all[0] == s.name {
			a.say("hosts %s are one machine, which they see differently: their ranks share its cores, and no memory", strings.Join(all, ", "))
		}
	}
}
