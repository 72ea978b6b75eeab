//go:build linux

package launch

import (
	"slices"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
)

// TestShareLoad: a machine has one load, whenever its hosts were asked; those that do not say which
// machine they are have their own.
func TestShareLoad(t *testing.T) {
	idle := []hosts.Idle{{Cores: 2, Load: 3.1}, {Cores: 1, Load: 4}, {Cores: 4, Load: 4.85}, {Cores: 2, Load: 5}, {Cores: 2, Load: 6}}
	shareLoad(idle, []string{"a", "", "a", "b", ""})
	want := []hosts.Idle{{Cores: 2, Load: 3.1}, {Cores: 1, Load: 4}, {Cores: 4, Load: 3.1}, {Cores: 2, Load: 5}, {Cores: 2, Load: 6}}
	if !slices.Equal(idle, want) {
		t.Errorf("%v, want %v", idle, want)
	}
}
