//go:build linux && !fitmpi_portable

package engine

import (
	"slices"
	"strings"
	"testing"
)

// shownShortly are what a short run shows of policies: each policy and each way once.
var shownShortly = []string{"worker-shared", "assist-tls", "assist-thread", "caller-tcp"}

// shortlySome is f, which in a short run skips what that does not show.
func shortlySome(f func(t *testing.T, p Policy)) func(t *testing.T, p Policy) {
	return func(t *testing.T, p Policy) {
		name := t.Name()
		if testing.Short() && !slices.Contains(shownShortly, name[strings.LastIndex(name, "/")+1:]) {
			t.Skip("a short run shows each policy and each way once")
		}
		f(t, p)
	}
}
