//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// network is what lies between the two ranks of an experiment.
type network string

const (
	loopback network = ""     // the loopback device of this machine
	link100M network = "100M" // a veth pair between two namespaces, limited to 100 Mbit/s: the FiTMPI paper's network
	link1G   network = "1G"   // the same at 1 Gbit/s
)

// The namespaces that netns.sh makes.
var namespaces = [2]string{"fitmpi-bench-a", "fitmpi-bench-b"}

// suffix is what the transport of a row over the network ends in.
func (n network) suffix() string {
	if n == loopback {
		return ""
	}
	return "-" + string(n)
}

func (n network) String() string {
	switch n {
	case loopback:
		return "loopback"
	case link100M:
		return "a 100 Mbit/s link"
	case link1G:
		return "a 1 Gbit/s link"
	}
	panic("compare: bug: no such network")
}

// rate is what netns.sh and tc call the rate.
func (n network) rate() string { return map[network]string{link100M: "100mbit", link1G: "1gbit"}[n] }

// links sets the network up that an experiment needs, and no more often than needed.
type links struct {
	exec func(ctx context.Context, name string, args ...string) (string, error)
	root string // of the repository

	up      network // the one that stands; loopback: none
	crossed bool
}

// use makes n the network that stands.
func (l *links) use(ctx context.Context, n network) error {
	if n == l.up {
		return nil
	}
	if err := l.close(ctx); err != nil || n == loopback {
		return err
	}
	if _, err := l.exec(ctx, l.script(), "setup", n.rate()); err != nil {
		return fmt.Errorf("set up %v: %w", n, err)
	}
	l.up = n
	if err := l.prepareCrossing(ctx); err != nil {
		return errors.Join(err, l.close(ctx))
	}
	return nil
}

// close takes the network down, if there is one.
func (l *links) close(ctx context.Context) error {
	if l.up == loopback {
		return nil
	}
	l.up, l.crossed = loopback, false
	_, err := l.exec(ctx, l.script(), "teardown")
	return err
}

func (l *links) script() string { return netnsScript(l.root) }

// netnsScript makes namespaces and the link between them, and starts the peers on it.
func netnsScript(root string) string { return filepath.Join(root, "bench/peers/netns.sh") }

// Ranks of FitMPI listen at 127.0.0.1 and tell each other so; there is no setting for
// another address. So for them, and only while they run, 127.0.0.1 in each namespace
// leads over the link to the other one. It is routing alone: a rule for what is sent
// from here to 127.0.0.1 comes before the table of local addresses, whose own rule has
// to move back for that, and route_localnet lets the packets in at the far end. The
// peers' daemons need their own 127.0.0.1, so the rule is there for FitMPI's runs only.
const (
	crossingTable = "200"
	crossingPref  = "50"  // before
	localPref     = "100" // the table of local addresses
)

// prepareCrossing adds the routes to both namespaces, but not the rule.
func (l *links) prepareCrossing(ctx context.Context) error {
	var ends [2]end
	for i, ns := range namespaces {
		out, err := l.exec(ctx, "ip", "-n", ns, "-json", "-4", "address", "show", "scope", "global")
		if err != nil {
			return err
		}
		if ends[i], err = parseEnd(out); err != nil {
			return fmt.Errorf("namespace %s: %w", ns, err)
		}
	}
	for i, ns := range namespaces {
		here, there := ends[i], ends[1-i]
		conf := "/proc/sys/net/ipv4/conf/"
		lines := [][]string{
			{"ip", "netns", "exec", ns, "sh", "-c", "echo 1 >" + conf + here.device + "/route_localnet; echo 0 >" +
				conf + "all/rp_filter; echo 0 >" + conf + here.device + "/rp_filter"},
			{"ip", "-n", ns, "route", "add", "127.0.0.1/32", "via", there.address, "dev", here.device,
				"src", here.address, "table", crossingTable},
			{"ip", "-n", ns, "rule", "add", "pref", localPref, "lookup", "local"},
			{"ip", "-n", ns, "rule", "del", "pref", "0"},
		}
		for _, line := range lines {
			if _, err := l.exec(ctx, line[0], line[1:]...); err != nil {
				return err
			}
		}
	}
	return nil
}

// cross adds the rule, or takes it away.
func (l *links) cross(ctx context.Context, on bool) error {
	if l.up == loopback || on == l.crossed {
		return nil
	}
	for _, ns := range namespaces {
		args := []string{"-n", ns, "rule", "del", "pref", crossingPref}
		if on {
			args = []string{"-n", ns, "rule", "add", "pref", crossingPref, "iif", "lo", "to", "127.0.0.1", "lookup", crossingTable}
		}
		if _, err := l.exec(ctx, "ip", args...); err != nil {
			return err
		}
	}
	l.crossed = on
	return nil
}

// end is one end of the link.
type end struct{ device, address string }

// parseEnd reads the output of ip -json address.
func parseEnd(out string) (end, error) {
	var devices []struct {
		Name  string `json:"ifname"`
		Addrs []struct {
			Local string `json:"local"`
		} `json:"addr_info"`
	}
	if err := json.Unmarshal([]byte(out), &devices); err != nil {
		return end{}, err
	}
	for _, d := range devices {
		for _, a := range d.Addrs {
			return end{device: d.Name, address: a.Local}, nil
		}
	}
	return end{}, errors.New("no device with an address")
}
