package sys

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Part is a kind of part of a machine, of which it may have several.
type Part string

// The parts that Linux tells of, from large to small. On some machines a package is part of a NUMA
// node.
const (
	Package  Part = "package"  // a physical processor
	NUMANode Part = "numanode" // processors that are equally near to some memory
	L3Cache  Part = "l3cache"  // processors that share a cache of the third level
	Core     Part = "core"
	HWThread Part = "hwthread" // one of the threads of a core: what the kernel calls a processor
)

// Parts lists all kinds, from large to small.
var Parts = []Part{Package, NUMANode, L3Cache, Core, HWThread}

// PartOf returns the part of the kind that all of cpus are in, by its lowest processor, so that two
// sets get equal numbers if they are in the same part. It is -1 if they are in several, or if the
// kernel does not say.
func PartOf(cpus []int, kind Part) int { return partOf(os.DirFS("/sys/devices/system"), cpus, kind) }

func partOf(system fs.FS, cpus []int, kind Part) int {
	if len(cpus) == 0 {
		return -1
	}
	part, err := around(system, cpus[0], kind)
	if err != nil || len(part) == 0 {
		return -1
	}
	for _, c := range cpus {
		if !slices.Contains(part, c) {
			return -1
		}
	}
	return part[0]
}

// around lists the processors of the part that cpu is in.
func around(system fs.FS, cpu int, kind Part) ([]int, error) {
	dir := "cpu/cpu" + strconv.Itoa(cpu)
	switch kind {
	case Package:
		return listOf(system, dir+"/topology/package_cpus_list", dir+"/topology/core_siblings_list")
	case NUMANode:
		return holding(system, "node/node*/cpulist", cpu)
	case L3Cache:
		return cache(system, dir, "3")
	case Core:
		return listOf(system, dir+"/topology/core_cpus_list", dir+"/topology/thread_siblings_list")
	case HWThread:
		return []int{cpu}, nil
	default:
		return nil, fmt.Errorf("sys: no such part: %q", kind)
	}
}

// listOf reads the first of the files that is there.
func listOf(system fs.FS, names ...string) (list []int, err error) {
	for _, name := range names {
		var b []byte
		if b, err = fs.ReadFile(system, name); err == nil {
			return ParseCPUs(strings.TrimSpace(string(b)))
		}
	}
	return nil, err
}

// holding reads the lists whose names match and returns the one with cpu in it.
func holding(system fs.FS, pattern string, cpu int) ([]int, error) {
	names, err := fs.Glob(system, pattern)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if list, err := listOf(system, name); err == nil && slices.Contains(list, cpu) {
			return list, nil
		}
	}
	return nil, errors.New("no list has the processor")
}

// cache lists the processors that share a cache of the level with that of dir.
func cache(system fs.FS, dir, level string) ([]int, error) {
	names, err := fs.Glob(system, dir+"/cache/index*/level")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if b, err := fs.ReadFile(system, name); err == nil && strings.TrimSpace(string(b)) == level {
			return listOf(system, strings.TrimSuffix(name, "level")+"shared_cpu_list")
		}
	}
	return nil, errors.New("no cache of that level")
}
