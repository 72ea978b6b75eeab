//go:build linux

package jobmetrics

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/view"
)

// targets is a target group of Prometheus' HTTP service discovery.
type targets struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// discover tells Prometheus where each rank is scraped: at an address of its own if the rank serves
// its metrics where the asker can reach it, else here, at the address by which the asker has
// reached us.
func (s *server) discover(w http.ResponseWriter, r *http.Request) {
	ranks := s.view.Ranks()
	groups := make([]targets, 0, len(ranks)) // not nil: Prometheus wants a list
	for i := range ranks {
		if ranks[i].Vacant {
			continue
		}
		labels := labelsOf(&ranks[i])
		labels["job"] = s.name
		at := ownAddress(&ranks[i], r.RemoteAddr)
		if at == "" {
			at, labels["__metrics_path__"] = r.Host, fmt.Sprintf("/rank/%d/metrics", ranks[i].Number)
		}
		groups = append(groups, targets{[]string{at}, labels})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(groups) // an error is the asker's, which has gone
}

// ownAddress is where a rank serves its metrics for an asker at an address. It is "" if the asker
// cannot reach the rank there. That is so for a Unix socket, and for the loopback interface of a
// machine where the asker is not. An asker that came over the loopback interface is on our machine.
func ownAddress(r *view.Rank, asker string) string {
	host, port, err := net.SplitHostPort(r.Metrics)
	isRunning := r.State.Phase == launch.Joined || r.State.Phase == launch.Started
	if err != nil || !isRunning || strings.HasPrefix(r.Metrics, "unix:") {
		return ""
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil || !ip.IsUnspecified() && !ip.IsLoopback():
		return r.Metrics
	case isLoopback(asker) && r.Here:
		return net.JoinHostPort(cmp.Or(loopback(ip), host), port)
	case ip.IsUnspecified():
		return net.JoinHostPort(r.Host[strings.LastIndexByte(r.Host, '@')+1:], port) // without the user of ssh
	default:
		return ""
	}
}

// loopback is the address by which the same machine reaches a process that listens on all
// interfaces; "" if ip does not mean that.
func loopback(ip netip.Addr) string {
	switch {
	case !ip.IsUnspecified():
		return ""
	case ip.Is4():
		return "127.0.0.1"
	default:
		return "::1"
	}
}

func isLoopback(addr string) bool {
	at, err := netip.ParseAddrPort(addr)
	return err == nil && at.Addr().Unmap().IsLoopback()
}
