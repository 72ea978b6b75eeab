package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
)

// where is on which hosts which ranks run.
type where struct {
	hosts    []hosts.Host   // nil: this machine, and nothing says how many ranks it takes
	place    []int          // by rank: index in hosts; nil with no hosts
	counts   []int          // by app: its ranks
	byLoad   launch.Placing // with --map-by load: divides the ranks when the load is known; place is every host once
	launcher string         // "" or ssh, or srun
	source   string         // what named the hosts, for messages
}

// machine is what must be known of this machine to find the hosts.
type machine struct {
	getenv func(string) string
	open   func(string) (io.ReadCloser, error)
	lookUp func(string) (string, error) // exec.LookPath
	names  func() []string              // names and addresses of this machine, in lower case
}

func thisMachine() machine {
	open := func(name string) (io.ReadCloser, error) { return os.Open(name) }
	return machine{getenv: os.Getenv, open: open, lookUp: exec.LookPath, names: ownNames}
}

// place finds the hosts, from the options or from the resource manager that has given them to this
// job, and divides the ranks among them.
func (o *options) place(m machine) (w where, err error) {
	w.launcher = o.launcher
	if w.hosts, w.source, err = o.named(m); err != nil {
		return w, err
	}
	if w.hosts == nil {
		a, err := hosts.Allocated(m.getenv, m.open)
		if err != nil {
			return w, fmt.Errorf("%w; the hosts of this job are named there; -H or --hostfile name others", err)
		}
		if a != nil {
			w.hosts, w.source = a.Hosts, a.Source
			w.launcher = o.launcherOf(a, m)
		}
	}
	if w.hosts == nil {
		return w, o.placeHere(&w)
	}
	groups, err := o.groups(&w, m)
	if err != nil {
		return w, err
	}
	w.place, w.counts, err = hosts.Place(w.hosts, o.policy, groups)
	if err != nil {
		return w, fmt.Errorf("hosts of %s: %w", w.source, err)
	}
	if o.policy.MapBy == hosts.ByLoad {
		o.placeByLoad(&w, groups)
	}
	return w, nil
}

// placeByLoad leaves the division among the hosts of groups until they have been reached.
func (o *options) placeByLoad(w *where, groups []hosts.Group) {
	w.place = nil
	for h := range w.hosts {
		if slices.ContainsFunc(groups, func(g hosts.Group) bool { return slices.Contains(g.On, h) }) {
			w.place = append(w.place, h)
		}
	}
	all := w.hosts
	w.byLoad = func(machine []int, idle []hosts.Idle) ([]int, error) {
		place, _, err := hosts.PlaceByLoad(all, o.policy, groups, machine, idle)
		return place, err
	}
}

// launcherOf is how agents are started in an allocation.
func (o *options) launcherOf(a *hosts.Allocation, m machine) string {
	if o.launcher != "" || a.Manager != "Slurm" {
		return o.launcher
	}
	if _, err := m.lookUp("srun"); err != nil {
		return "ssh"
	}
	return "srun"
}

// placeHere is place for this machine alone, which takes as many ranks as the user wants.
func (o *options) placeHere(w *where) error {
	if o.noLocal {
		return errors.New("--nolocal: this machine is the only host; name others with -H or --hostfile")
	}
	if o.policy.PerHost > 0 {
		return fmt.Errorf("%d ranks on each host, and no hosts; name them with -H or --hostfile, or write -n %d", o.policy.PerHost, o.policy.PerHost)
	}
	for _, a := range o.apps {
		w.counts = append(w.counts, max(a.ranks, 1))
	}
	return nil
}

// named returns the hosts that the options name, and which option did; nil if none does.
func (o *options) named(m machine) (all []hosts.Host, source string, err error) {
	if o.hostFile != "" {
		f, err := m.open(o.hostFile)
		if err != nil {
			return nil, "", fmt.Errorf("--hostfile %s: %w", o.hostFile, errors.Unwrap(err))
		}
		defer f.Close()
		all, err = hosts.ReadFile(o.hostFile, f)
		return all, "--hostfile " + o.hostFile, err
	}
	for _, a := range o.apps {
		if a.hosts == "" {
			continue
		}
		list, err := hosts.Parse(a.hosts)
		if err != nil {
			return nil, "", fmt.Errorf("-H: %w", err)
		}
		for _, h := range list {
			if i := slices.IndexFunc(all, func(k hosts.Host) bool { return k.Name == h.Name }); i < 0 {
				all = append(all, h)
			} else {
				all[i].Slots = max(all[i].Slots, h.Slots)
			}
		}
	}
	return all, "-H", nil
}

// groups is what each app asks for. The -H of an app chooses from the hosts, and may say their
// slots.
func (o *options) groups(w *where, m machine) ([]hosts.Group, error) {
	far, err := o.far(w.hosts, m)
	if err != nil {
		return nil, err
	}
	var groups []hosts.Group
	for _, a := range o.apps {
		g := hosts.Group{Ranks: a.ranks, On: far}
		if a.hosts != "" {
			chosen, err := choose(w, a.hosts)
			if err != nil {
				return nil, err
			}
			g.On = slices.DeleteFunc(chosen, func(h int) bool { return !slices.Contains(far, h) })
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// far is the hosts that ranks may be put on: with --nolocal all but this machine.
func (o *options) far(all []hosts.Host, m machine) ([]int, error) {
	var far []int
	own := m.names()
	for i, h := range all {
		if !o.noLocal || !slices.Contains(own, strings.ToLower(h.Name)) {
			far = append(far, i)
		}
	}
	if len(far) == 0 {
		return nil, errors.New("--nolocal: this machine is the only host; name others with -H or --hostfile")
	}
	return far, nil
}

// choose returns which of the hosts a list names, in their order.
func choose(w *where, list string) ([]int, error) {
	names, err := hosts.Parse(list)
	if err != nil {
		return nil, fmt.Errorf("-H: %w", err)
	}
	var chosen []int
	for _, h := range names {
		i := slices.IndexFunc(w.hosts, func(k hosts.Host) bool { return k.Name == h.Name })
		if i < 0 {
			return nil, fmt.Errorf("-H: host %s is not among the %d of %s", h.Name, len(w.hosts), w.source)
		}
		if h.Slots > 0 {
			w.hosts[i].Slots = h.Slots
		}
		chosen = append(chosen, i)
	}
	slices.Sort(chosen)
	return chosen, nil
}

// ownNames is what this machine is called.
func ownNames() []string {
	names := []string{"localhost"}
	if name, err := os.Hostname(); err == nil {
		short, _, _ := strings.Cut(name, ".")
		names = append(names, strings.ToLower(name), strings.ToLower(short))
	}
	addrs, _ := net.InterfaceAddrs() // without them names must do
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			names = append(names, p.Addr().String())
		}
	}
	return names
}

// isLocal reports whether every rank runs on this machine.
func (w *where) isLocal(m machine) bool {
	own := m.names()
	return !slices.ContainsFunc(w.place, func(h int) bool {
		return w.hosts[h].Agent || !slices.Contains(own, strings.ToLower(w.hosts[h].Name))
	})
}
