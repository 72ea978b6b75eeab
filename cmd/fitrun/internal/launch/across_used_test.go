//go:build linux

package launch

import (
	"fmt"
	"testing"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
)

// Several names of this machine are one host, so that its cores are not given twice.
func TestOnlyUsed(t *testing.T) {
	for _, c := range []struct {
		names string
		place []int
		want  string // hosts, and by rank where it is
	}{
		{"a,b,c", []int{2, 0, 2}, "[c a] [0 1 0]"},
		{"localhost,127.0.0.1", []int{0, 1}, "[localhost] [0 0]"},
		{"127.0.0.1,a,localhost,a2", []int{0, 1, 2, 3, 0}, "[127.0.0.1 a a2] [0 1 0 2 0]"},
		{"localhost,me@127.0.0.1", []int{0, 1}, "[localhost me@127.0.0.1] [0 1]"},
	} {
		hs, err := hosts.Parse(c.names)
		if err != nil {
			t.Fatal(err)
		}
		r, used := onlyUsed(Request{Hosts: hs, Place: c.place})
		if got := fmt.Sprint(used, " ", r.Place); got != c.want {
			t.Errorf("%s: %s, want %s", c.names, got, c.want)
		}
	}
	apart := []hosts.Host{{Name: "localhost", Domain: "west"}, {Name: "127.0.0.1", Domain: "east"}}
	if _, used := onlyUsed(Request{Hosts: apart, Place: []int{0, 1}}); len(used) != 2 {
		t.Errorf("%v, want both: they are of two domains", used)
	}
}
