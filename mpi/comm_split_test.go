//go:build linux && !fitmpi_portable

package mpi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi"
)

// together says which ranks of c the calling rank is with after a split, "nil" if it is in no
// communicator.
func together(c *mpi.Comm, kind mpi.SplitKind, info *mpi.Info) (string, error) {
	d, err := c.SplitType(kind, 0, info)
	if err != nil || d == nil {
		return "nil", err
	}
	ranks := make([]int, d.Size())
	if err := mpi.Allgather(d, []int{c.Rank()}, ranks); err != nil {
		return "", err
	}
	return strings.Trim(fmt.Sprint(ranks), "[]"), nil
}

func resource(name string) *mpi.Info {
	info := mpi.InfoCreate()
	_ = info.Set("mpi_hw_resource_type", name)
	return info
}

// Ranks share memory as Transport says; ranks are on one host as FITMPI_CLIQUES says, whatever the
// transport.
func TestSplitType(t *testing.T) {
	for _, test := range []struct {
		transport, cliques     string
		shared, host, unguided [4]string // by rank
	}{
		{"auto", "", [4]string{"0 1 2 3", "0 1 2 3", "0 1 2 3", "0 1 2 3"}, [4]string{"0 1 2 3", "0 1 2 3", "0 1 2 3", "0 1 2 3"}, [4]string{"nil", "nil", "nil", "nil"}},
		{"tcp", "", [4]string{"0", "1", "2", "3"}, [4]string{"0 1 2 3", "0 1 2 3", "0 1 2 3", "0 1 2 3"}, [4]string{"nil", "nil", "nil", "nil"}},
		{"auto", "2", [4]string{"0 1", "0 1", "2 3", "2 3"}, [4]string{"0 1", "0 1", "2 3", "2 3"}, [4]string{"0 1", "0 1", "2 3", "2 3"}},
		{"tcp", "2", [4]string{"0", "1", "2", "3"}, [4]string{"0 1", "0 1", "2 3", "2 3"}, [4]string{"0 1", "0 1", "2 3", "2 3"}},
		{"auto", "3", [4]string{"0 1", "0 1", "2", "3"}, [4]string{"0 1", "0 1", "2", "3"}, [4]string{"0 1", "0 1", "2", "3"}},
	} {
		t.Run(test.transport+"-"+test.cliques, func(t *testing.T) {
			t.Setenv("FITMPI_TRANSPORT", test.transport)
			t.Setenv("FITMPI_CLIQUES", test.cliques)
			err := mpi.RunThreads(4, func(_ context.Context, c *mpi.Comm) error {
				out := mpi.InfoCreate()
				for _, one := range []struct {
					what string
					kind mpi.SplitKind
					info *mpi.Info
					want [4]string
				}{
					{"shared", mpi.SplitShared, nil, test.shared},
					{"host", mpi.SplitHWGuided, resource("host"), test.host},
					{"unguided", mpi.SplitHWUnguided, out, test.unguided},
				} {
					got, err := together(c, one.kind, one.info)
					if err != nil {
						return err
					}
					if got != one.want[c.Rank()] {
						return fmt.Errorf("%s: with %q, want %q", one.what, got, one.want[c.Rank()])
					}
				}
				if name, ok := out.Get("mpi_hw_resource_type"); ok != (test.cliques != "") || ok && name != "host" {
					return fmt.Errorf("the unguided split went by %q, %v", name, ok)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Ranks that are threads have the affinity of their process: they are all in a part of the machine,
// or none is, unless they play ranks of different hosts.
func TestSplitTypeByParts(t *testing.T) {
	t.Setenv("FITMPI_CLIQUES", "2")
	for _, part := range sys.Parts {
		bound := sys.PartOf(sys.AllowedCPUs(), part) >= 0
		err := mpi.RunThreads(2, func(_ context.Context, c *mpi.Comm) error {
			want := "nil"
			if bound {
				want = fmt.Sprint(c.Rank())
			}
			got, err := together(c, mpi.SplitHWGuided, resource(string(part)))
			if err == nil && got != want {
				err = fmt.Errorf("with %q, want %q", got, want)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// MPI 4.1, section 9.1: what SplitType can split by, the hardware resource info tells.
func TestHWResourceInfo(t *testing.T) {
	info := mpi.HWResourceInfo()
	if v, ok := info.Get("host"); !ok || v != "true" {
		t.Errorf("host: %q, %v", v, ok)
	}
	for _, key := range []string{"package", "numanode", "l3cache", "core", "hwthread"} {
		if v, ok := info.Get(key); !ok || v != "true" && v != "false" {
			t.Errorf("%s: %q, %v", key, v, ok)
		}
	}
	if v, _ := info.Get("hwthread"); (v == "true") != (len(sys.AllowedCPUs()) == 1) {
		t.Errorf("bound to one hardware thread: %s, of %d", v, len(sys.AllowedCPUs()))
	}
}
