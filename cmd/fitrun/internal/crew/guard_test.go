//go:build linux

package crew

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestReadOrders(t *testing.T) {
	const mark = "m FITMPI_MARK=0123456789abcdef0123456789abcdef"
	o := readOrders(strings.NewReader(
		"+ 10\n+ 20\nt /tmp/fitrun-1\n- 10\n+ -1\n+ 1\n+ 0\n+ x\nt /home/me\nt fitrun-relative\nnonsense\n+ 30\n" + mark + "\nm PATH=/bin\nm FITMPI_MARK=\n"))
	if got := slices.Sorted(maps.Keys(o.groups)); !slices.Equal(got, []int{20, 30}) {
		t.Errorf("groups %v", got)
	}
	if !slices.Equal(o.temps, []string{"/tmp/fitrun-1"}) {
		t.Errorf("directories %q", o.temps)
	}
	if !slices.Equal(o.marks, []string{mark[2:]}) || o.clean {
		t.Errorf("marks %q, clean %t", o.marks, o.clean)
	}
	if !readOrders(strings.NewReader("+ 10\n.\n")).clean {
		t.Error("the end is not understood")
	}
}
