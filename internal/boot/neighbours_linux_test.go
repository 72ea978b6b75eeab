//go:build !fitmpi_portable

package boot

import (
	"slices"
	"testing"
)

// aborts is a session that notes when it is aborted.
type aborts struct {
	Session
	name string
	log  *[]string
}

func (a aborts) Abort(int, string) error {
	*a.log = append(*a.log, a.name)
	return nil
}

// The ranks of a host hear of an abort when its reason is said, or they might say another first.
func TestNeighboursAbort(t *testing.T) {
	var log []string
	n := &neighbours{Session: aborts{name: "job", log: &log}, aside: aborts{name: "host", log: &log}}
	if err := n.Abort(1, "why"); err != nil || !slices.Equal(log, []string{"job", "host"}) {
		t.Errorf("told %q, %v; want the job, then the host", log, err)
	}
}
