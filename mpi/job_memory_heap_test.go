//go:build linux && !fitmpi_portable

package mpi

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
)

// heapChild, in the environment, makes TestHeapFloorChild tell.
const heapChild = "FITMPI_TEST_HEAP_CHILD"

// TestHeapFloor: the heap of a process whose program keeps little may grow by heapFloor before it
// is collected, at no cost in memory that is there. A user that says how memory is to be collected
// is obeyed.
func TestHeapFloor(t *testing.T) {
	least := math.MaxInt
	for _, tc := range []struct {
		name, env string
		raised    bool
	}{
		{"GOGC", "GOGC=100", false},
		{"GOMEMLIMIT", "GOMEMLIMIT=1GiB", false},
		{"by itself", "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestHeapFloorChild$", "-test.v")
			for _, v := range os.Environ() {
				if !strings.HasPrefix(v, "GOGC=") && !strings.HasPrefix(v, "GOMEMLIMIT=") {
					child.Env = append(child.Env, v)
				}
			}
			child.Env = append(child.Env, heapChild+"=1", tc.env)
			out, err := child.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var room, resident int
			_, told, _ := bytes.Cut(out, []byte("heap: "))
			if _, err := fmt.Sscanf(string(told), "%d %d", &room, &resident); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if raised := room >= heapFloor; raised != tc.raised {
				t.Errorf("%d bytes until the next collection, heapFloor is %d; want it to be reached: %v", room, heapFloor, tc.raised)
			}
			if least = min(least, resident); resident > least+heapFloor/4 {
				t.Errorf("the job has added %d bytes to the resident set, of another %d: want no memory for what nobody touches", resident, least)
			}
		})
	}
}

// TestHeapFloorChild tells, in a process of its own, how much the heap may grow, and by how much
// the resident set has grown, by a job.
func TestHeapFloorChild(t *testing.T) {
	if os.Getenv(heapChild) == "" {
		return // it is TestHeapFloor's
	}
	before := residentBytes(t)
	if err := RunThreads(2, func(context.Context, *Comm) error { return nil }); err != nil {
		t.Fatal(err)
	}
	after := residentBytes(t)
	runtime.GC()
	sample := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	fmt.Printf("heap: %d %d\n", sample[0].Value.Uint64()-sample[1].Value.Uint64(), max(after-before, 0))
}

func residentBytes(t *testing.T) int {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	var kb int
	_, rest, _ := bytes.Cut(status, []byte("\nVmRSS:"))
	if _, err := fmt.Sscanf(string(rest), "%d kB", &kb); err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
