//go:build linux

package shm

import "testing"

// TestReadsFast: what is found is found again, and a kernel that does not permit reading is not fast.
func TestReadsFast(t *testing.T) {
	fast := ReadsFast()
	if got := ReadsFast(); got != fast {
		t.Errorf("first %v, then %v", fast, got)
	}
	b := make([]byte, 8)
	if _, err := ReadProcess(1<<30, b, addressOf(b)); err == nil {
		t.Error("a process that cannot be is read")
	}
}
