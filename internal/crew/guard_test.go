//go:build linux

package crew

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestReadOrders(t *testing.T) {
	groups, temps := readOrders(strings.NewReader(
		"+ 10\n+ 20\nt /tmp/fitrun-1\n- 10\n+ -1\n+ 1\n+ 0\n+ x\nt /home/me\nt fitrun-relative\nnonsense\n+ 30"))
	if got := slices.Sorted(maps.Keys(groups)); !slices.Equal(got, []int{20, 30}) {
		t.Errorf("groups %v", got)
	}
	if !slices.Equal(temps, []string{"/tmp/fitrun-1"}) {
		t.Errorf("directories %q", temps)
	}
}
