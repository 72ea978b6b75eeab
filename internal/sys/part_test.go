package sys

import (
	"testing"
	"testing/fstest"
)

// machine has two packages of two cores of two threads, numbered as Intel's firmware does, and one
// NUMA node in each. Processor 1 tells by the old names, and has a cache of the second level as its
// first.
var machine = fstest.MapFS{
	"cpu/cpu0/topology/package_cpus_list":    {Data: []byte("0-1,4-5\n")},
	"cpu/cpu0/topology/core_cpus_list":       {Data: []byte("0,4\n")},
	"cpu/cpu0/cache/index3/level":            {Data: []byte("3\n")},
	"cpu/cpu0/cache/index3/shared_cpu_list":  {Data: []byte("0-1,4-5\n")},
	"cpu/cpu1/topology/core_siblings_list":   {Data: []byte("0-1,4-5\n")},
	"cpu/cpu1/topology/thread_siblings_list": {Data: []byte("1,5\n")},
	"cpu/cpu1/cache/index2/level":            {Data: []byte("2\n")},
	"cpu/cpu1/cache/index2/shared_cpu_list":  {Data: []byte("1,5\n")},
	"cpu/cpu2/topology/package_cpus_list":    {Data: []byte("2-3,6-7\n")},
	"cpu/cpu2/topology/core_cpus_list":       {Data: []byte("nonsense\n")},
	"node/node0/cpulist":                     {Data: []byte("0-1,4-5\n")},
	"node/node1/cpulist":                     {Data: []byte("2-3,6-7\n")},
	"node/node2/cpulist":                     {Data: []byte("\n")}, // of memory alone
	"cpu/cpu2/cache/index3/level":            {Data: []byte("3\n")},
	"cpu/cpu2/cache/index3/shared_cpu_list":  {Data: []byte("2,6\n")},
	"cpu/cpu2/cache/index0/level":            {Data: []byte("1\n")},
	"cpu/cpu2/cache/index0/shared_cpu_list":  {Data: []byte("2\n")},
	"cpu/cpu3/topology/package_cpus_list":    {Data: []byte("\n")},
	"cpu/cpu3/cache/index3/level":            {Data: []byte("3\n")},
	"cpu/cpu3/topology/core_siblings_list":   {Data: []byte("2-3,6-7\n")},
	"cpu/cpu3/topology/thread_siblings_list": {Data: []byte("3,7\n")},
}

func TestPartOf(t *testing.T) {
	for _, test := range []struct {
		cpus []int
		kind Part
		want int
	}{
		{[]int{0}, Package, 0}, {[]int{0, 1, 4, 5}, Package, 0}, {[]int{5, 0}, Package, -1 /* processor 5 is not there */},
		{[]int{0, 5}, Package, 0}, {[]int{1, 4}, Package, 0}, {[]int{2}, Package, 2}, {[]int{1, 2}, Package, -1}, {[]int{3}, Package, -1},
		{[]int{0, 4}, Core, 0}, {[]int{1}, Core, 1}, {[]int{0, 1}, Core, -1}, {[]int{2}, Core, -1},
		{[]int{0, 1}, NUMANode, 0}, {[]int{3, 7}, NUMANode, 2}, {[]int{0, 7}, NUMANode, -1}, {[]int{9}, NUMANode, -1},
		{[]int{0, 1}, L3Cache, 0}, {[]int{1}, L3Cache, -1}, {[]int{2, 6}, L3Cache, 2}, {[]int{2, 3}, L3Cache, -1}, {[]int{3}, L3Cache, -1},
		{[]int{3}, HWThread, 3}, {[]int{3, 4}, HWThread, -1},
		{nil, Package, -1}, {[]int{0}, "socket", -1},
	} {
		if got := partOf(machine, test.cpus, test.kind); got != test.want {
			t.Errorf("%v is in %s %d, want %d", test.cpus, test.kind, got, test.want)
		}
	}
	if got := PartOf([]int{0}, HWThread); got != 0 {
		t.Errorf("processor 0 of this machine is in hardware thread %d", got)
	}
	for _, kind := range Parts { // whatever this machine tells, a part has its own processors
		if got := PartOf(AllowedCPUs()[:1], kind); got > AllowedCPUs()[0] {
			t.Errorf("the %s of processor %d begins with %d", kind, AllowedCPUs()[0], got)
		}
	}
}
