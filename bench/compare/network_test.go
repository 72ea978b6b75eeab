//go:build linux

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// script is a fake of the commands that make networks. It writes down what it is told.
type script struct {
	lines []string
	fail  string // a command with this in it fails
}

func (s *script) exec(_ context.Context, name string, args ...string) (string, error) {
	line := name + " " + strings.Join(args, " ")
	s.lines = append(s.lines, line)
	if s.fail != "" && strings.Contains(line, s.fail) {
		return "", errors.New("no")
	}
	if strings.Contains(line, "-json") {
		return `[{},{"ifname":"v0","addr_info":[{"local":"10.0.0.1"}]}]`, nil
	}
	return "", nil
}

func (s *script) wantCount(t *testing.T, want int, part string) {
	t.Helper()
	n := 0
	for _, line := range s.lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	if n != want {
		t.Errorf("%q ran %d times, want %d:\n%s", part, n, want, strings.Join(s.lines, "\n"))
	}
}

func TestLinks(t *testing.T) {
	s := &script{}
	l := &links{exec: s.exec, root: "R"}
	for _, n := range []network{loopback, link1G, link1G, link100M, loopback, loopback} {
		if err := l.use(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		for _, on := range []bool{true, true, false} { // FitMPI, FitMPI, a peer
			if err := l.cross(t.Context(), on); err != nil {
				t.Fatal(err)
			}
		}
	}
	s.wantCount(t, 1, "R/bench/peers/netns.sh setup 1gbit")
	s.wantCount(t, 1, "R/bench/peers/netns.sh setup 100mbit")
	s.wantCount(t, 2, "teardown")
	s.wantCount(t, 6, "rule add pref 50 iif lo to 127.0.0.1") // in two namespaces each
	s.wantCount(t, 6, "rule del pref 50")
}

func TestLinksReportFailure(t *testing.T) {
	for _, part := range []string{"setup", "route add", "pref 50"} {
		s := &script{fail: part}
		l := &links{exec: s.exec, root: "R"}
		err := l.use(t.Context(), link1G)
		if err == nil {
			err = l.cross(t.Context(), true)
		}
		if err == nil {
			t.Errorf("%s fails and nobody says so", part)
		}
	}
}
