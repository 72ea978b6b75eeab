package cores

import "testing"

// Ranks that are bound have their cores beside each other, ranks that are not share those of their
// host.
func TestCoresTogether(t *testing.T) {
	for _, tc := range []struct {
		what string
		all  []place
		want int
	}{
		{"bound", []place{{"a 0", 1}, {"a 1", 1}}, 2},
		{"not bound", []place{{"a 0-1", 2}, {"a 0-1", 2}, {"a 0-1", 2}}, 2},
		{"two hosts", []place{{"a 0-1", 2}, {"b 0-3", 4}, {"a 0-1", 2}}, 6},
		{"no list", []place{{"a ", 2}, {"a ", 2}}, 2},
	} {
		if got := together(tc.all); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.what, got, tc.want)
		}
	}
	if allowed() == "" {
		t.Error("Linux does not say where this process may run")
	}
}
