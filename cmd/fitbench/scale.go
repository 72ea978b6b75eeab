//go:build linux

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/mpi"
)

// ringRepetitions is how often the ring turns, unless -iterations says.
const ringRepetitions = 2000

// scale measures what a rank costs when there are many: to start it, to keep it, and
// to pass a message on, with more ranks than cores.
func scale(e *env) error {
	if _, err := e.cases("ring"); err != nil {
		return err
	}
	if err := e.footprint(); err != nil {
		return err
	}
	share, err := e.share()
	if err != nil {
		return err
	}
	for _, size := range e.sizes() {
		if err := e.ring(size, share); err != nil {
			return err
		}
	}
	return mpi.Barrier(e.world)
}

// footprint reports how long the start took and what each rank occupies after it.
func (e *env) footprint() error {
	if err := mpi.Barrier(e.world); err != nil {
		return err
	}
	started := processAge()
	rss, err := residentSet()
	if err != nil {
		return err
	}
	fds, err := openFiles()
	if err != nil {
		return err
	}
	worst, err := e.slowest([]float64{rss, fds, started / 1e6})
	if err != nil || e.rank != 0 {
		return err
	}
	e.report("", 0, "rss", "bytes", worst[0:1])
	e.report("", 0, "fds", "1", worst[1:2])
	e.report("", 0, "init", "ms", worst[2:3])
	return nil
}

// ring measures the time in which every rank sends a message to the right and receives one from the
// left, times share. A repetition counts as long as it took where it took longest. Ranks that share
// a core take turns in which each handles what has come meanwhile. So all but one of its
// repetitions are short, and the long one is not that of the others. What messages cost is
// therefore the time of all repetitions, which is reported too.
func (e *env) ring(size int, share float64) error {
	out, in := buffer(size), buffer(size)
	n := cmp.Or(e.opt.iterations, ringRepetitions)
	warmup := e.warmupBefore(n)
	if err := mpi.Barrier(e.world); err != nil {
		return err
	}
	begun := now()
	for range warmup {
		if err := e.pass(out, in); err != nil {
			return err
		}
	}
	n, err := e.turns(n, warmup, micros(begun))
	if err != nil {
		return err
	}
	xs := make([]float64, 0, n)
	begun = now()
	for range n {
		start := now()
		if err := e.pass(out, in); err != nil {
			return err
		}
		xs = append(xs, micros(start)*share)
	}
	xs, err = e.slowest(append(xs, micros(begun)*share/float64(n)))
	if err != nil || e.rank != 0 {
		return err
	}
	e.report("ring", size, "per-message", "us", xs[:n])
	e.report("ring", size, "mean-per-message", "us", xs[n:])
	return nil
}

// ringMicros is about how long the ring turns at most: with more ranks than cores, some libraries
// take milliseconds for a message.
const ringMicros = 1e6

// turns is how many of n turns are measured, if warmup turns took so many microseconds. Rank 0
// decides.
func (e *env) turns(n, warmup int, took float64) (int, error) {
	count := []int{n}
	if warmup > 0 {
		count[0] = min(n, max(int(ringMicros*float64(warmup)/max(took, 1)), 5))
	}
	err := mpi.Bcast(e.world, count, 0)
	return count[0], err
}

// pass sends out to the right and receives in from the left.
func (e *env) pass(out, in []byte) error {
	right, left := (e.rank+1)%e.ranks, (e.rank+e.ranks-1)%e.ranks
	r := mpi.Irecv(e.world, in, left, dataTag)
	if err := mpi.Send(e.world, out, right, dataTag); err != nil {
		return err
	}
	_, err := r.Wait()
	return err
}

// share is how many cores there are for a rank, 1 at most: the part of a repetition's
// time that is one message's, if all cores are busy with messages.
func (e *env) share() (float64, error) {
	mask := make([]uint64, 1<<10) // of 65,536 cores
	for _, c := range sys.AllowedCPUs() {
		mask[c/64%len(mask)] |= 1 << (c % 64)
	}
	if err := mpi.Allreduce(e.world, mask, mask, mpi.BOr[uint64]); err != nil {
		return 0, err
	}
	cores := 0
	for _, m := range mask {
		for ; m != 0; m &= m - 1 {
			cores++
		}
	}
	return float64(min(cores, e.ranks)) / float64(e.ranks), nil
}

// hasCore reports whether every rank has a core to itself. All ranks call it.
func (e *env) hasCore() (bool, error) {
	share, err := e.share()
	return share == 1, err
}

// burnt is the processor time that this process had used when its packages were initialised.
var burnt = processorTime()

// processAge is for how many nanoseconds this process has existed, or a little less.
// Linux tells the moment of a process's start in ticks of 10 ms only. But what it did before
// this package was initialised cost processor time, which is known exactly; what is
// missing is the time for which it waited for a core or for its program to be read. Where
// the tick proves that to be more, the tick counts.
func processAge() float64 {
	return max(float64(now()+burnt), sinceStartTick()-1e9/ticksPerSecond)
}

// processorTime is the processor time of this process in nanoseconds.
func processorTime() int64 {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return ru.Utime.Nano() + ru.Stime.Nano()
}

// ticksPerSecond is the unit of /proc/self/stat on every platform of Linux that Go knows.
const ticksPerSecond = 100

// sinceStartTick is the time in nanoseconds since the tick in which this process was
// started, 0 if it cannot be told.
func sinceStartTick() float64 {
	stat, err1 := os.ReadFile("/proc/self/stat")
	uptime, err2 := os.ReadFile("/proc/uptime")
	if errors.Join(err1, err2) != nil {
		return 0
	}
	rest := stat[bytes.LastIndexByte(stat, ')')+1:] // the program's name may hold spaces and brackets
	fields, up := bytes.Fields(rest), bytes.Fields(uptime)
	const startTime = 19 // the 22nd field, counted from the third
	if len(fields) <= startTime || len(up) == 0 {
		return 0
	}
	start, err1 := strconv.ParseFloat(string(fields[startTime]), 64)
	upFor, err2 := strconv.ParseFloat(string(up[0]), 64)
	if errors.Join(err1, err2) != nil {
		return 0
	}
	return upFor*1e9 - start*(1e9/ticksPerSecond)
}

// residentSet is the resident set of this process in bytes.
func residentSet() (float64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(status, []byte("\nVmRSS:"))
	var kilobytes float64
	if _, err := fmt.Sscanf(string(rest), "%f kB", &kilobytes); !ok || err != nil {
		return 0, errors.New("/proc/self/status does not tell VmRSS")
	}
	return kilobytes * 1024, nil
}

// openFiles is the number of descriptors of this process.
func openFiles() (float64, error) {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0, err
	}
	return float64(len(names) - 1), nil // one was that of the directory
}
