//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// What ranks of the scripts do with what fitrun gives to those of one host.

// place says where a rank is, and checks that its process is bound as it was told.
func (r *rank) place() {
	cpus, err := sys.ThreadCPUs(os.Getpid())
	check(err)
	if r.Bound != nil && !slices.Equal(cpus, r.Bound) {
		check(fmt.Errorf("told that it is bound to %v, runs on %v", r.Bound, cpus))
	}
	if r.Bound != nil && len(r.Bound) != r.Cores*r.ProcessRanks {
		check(fmt.Errorf("%d ranks with %d cores each are bound to %v", r.ProcessRanks, r.Cores, r.Bound))
	}
	if beyond := slices.ContainsFunc(r.Bound, func(cpu int) bool { return !slices.Contains(r.Roam, cpu) }); beyond && r.Roam != nil {
		check(fmt.Errorf("bound to %v, roams over %v", r.Bound, r.Roam))
	}
	ps := runtime.GOMAXPROCS(0) // a core less for each rank that is one too many for the machine
	fmt.Printf("rank %d: process %d with ranks: %d, bound: %v, GOMAXPROCS fits: %v, segment: %v, bell: %v\n",
		r.Rank, r.Process, r.ProcessRanks, r.Bound != nil, r.ProcessRanks < ps && ps <= r.ProcessRanks*(r.Cores+1),
		r.Segment != nil, r.Info.Bell != nil)
}

// fds checks that the process has the descriptors that it should have, and no others.
func (r *rank) fds() {
	if r.Rank%r.ProcessRanks == 0 { // one rank for all of the process, before the others can go on
		check(r.checkFDs())
		fmt.Printf("rank %d has the right descriptors\n", r.Rank)
	}
	r.init()
	r.finalize()
}

// checkFDs looks at all descriptors but the standard streams. What fitrun itself inherited is
// passed on, as any program does, and not counted; nor are the files by which the Go runtime learns
// of its cgroup's limit.
func (r *rank) checkFDs() error {
	const ofRuntime = 1 // its poller, and the eventfd that wakes it
	want := map[string]int{
		"socket": r.ProcessRanks, "/memfd": r.ProcessRanks, "[eventfd]": r.ProcessRanks + ofRuntime, "[eventpoll]": ofRuntime,
	}
	kinds := make(map[string]int)
	var all []string
	ofFitrun := openFiles(os.Getppid())
	for fd, target := range openFiles(os.Getpid()) {
		kind, inode, _ := strings.Cut(target, ":")
		if kind == "anon_inode" {
			kind = inode
		}
		inherited := want[kind] == 0 && ofFitrun[fd] == target
		if fd < 3 || inherited || strings.HasPrefix(target, "/sys/fs/cgroup/") {
			continue
		}
		kinds[kind]++
		all = append(all, fmt.Sprint(fd, " ", target))
	}
	if !maps.Equal(kinds, want) {
		return fmt.Errorf("descriptors %v, want %v: %q", kinds, want, all)
	}
	return nil
}

// openFiles is what the descriptors of a process lead to. A link that cannot be read was that of
// the directory.
func openFiles(pid int) map[int]string {
	dir := fmt.Sprintf("/proc/%d/fd/", pid)
	entries, err := os.ReadDir(dir)
	check(err)
	files := make(map[int]string)
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		check(err)
		if target, err := os.Readlink(dir + e.Name()); err == nil {
			files[fd] = target
		}
	}
	return files
}

// segment checks that all ranks have one and the same segment, and leaves its identity in a file.
// With an argument the rank then waits for its end.
func (r *rank) segment() {
	st, err := r.Segment.Stat()
	check(err)
	sys := st.Sys().(*syscall.Stat_t)
	id := fmt.Sprintf("%d:%d", sys.Dev, sys.Ino)
	cards, err := r.Exchange(context.Background(), []byte(id))
	check(err)
	for i, c := range cards {
		if string(c) != id {
			check(fmt.Errorf("segment %s, rank %d has %s", id, i, c))
		}
	}
	write(filepath.Join(os.Getenv("WORK"), fmt.Sprintf("rank%d.segment", r.Rank)), id)
	fmt.Printf("rank %d shares the segment\n", r.Rank)
	if len(r.args) > 0 {
		r.untilEnded()
		select {}
	}
	r.finalize()
}

// bells: every rank rings every other one.
func (r *rank) bells() {
	got := make(chan *os.File, r.LocalSize)
	for peer := range r.LocalSize {
		if peer != r.LocalRank {
			check(r.Session.Bell(peer, func(f *os.File) { got <- f }))
		}
	}
	one := binary.NativeEndian.AppendUint64(nil, 1)
	for range r.LocalSize - 1 {
		f := <-got
		_, err := f.Write(one)
		check(errors.Join(err, f.Close()))
	}
	rung := uint64(0)
	for rung < uint64(r.LocalSize-1) {
		_, err := r.Info.Bell.Read(one)
		check(err)
		rung += binary.NativeEndian.Uint64(one)
	}
	fmt.Printf("rank %d was rung %d times\n", r.Rank, rung)
}
