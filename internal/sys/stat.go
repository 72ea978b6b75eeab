package sys

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Children returns the process ids of the children of this process, zombies included.
func Children() ([]int, error) {
	procs, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for child processes: %w", err)
	}
	self := os.Getpid()
	var kids []int
	for _, p := range procs {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		if ppid, ok := parentOf(pid); ok && ppid == self {
			kids = append(kids, pid)
		}
	}
	return kids, nil
}

// IsExiting reports whether the process pid is on its way out or gone. It is true before any
// descriptor of the process is closed. So a peer that has seen a connection of a dying process end
// will find it true: the kernel marks all threads (PF_EXITING) before the last of them closes the
// files. The kernel closes those opened last first.
func IsExiting(pid int) bool {
	const pfExiting = 0x4 // include/linux/sched.h
	stat, ok := readStat(pid)
	if !ok {
		return true
	}
	flags, err := strconv.ParseUint(stat[statFlags], 10, 64)
	return err == nil && flags&pfExiting != 0
}

// parentOf reads the parent of pid; false when the process is gone.
func parentOf(pid int) (int, bool) {
	stat, ok := readStat(pid)
	if !ok {
		return 0, false
	}
	ppid, err := strconv.Atoi(stat[statParent])
	return ppid, err == nil
}

// Fields of /proc/PID/stat, counted from the one after the command's name.
const (
	statState  = 0
	statParent = 1
	statFlags  = 6
	statStart  = 19
)

// StartOf is when the process pid began, as the kernel counts that: a process that gets the number
// of one that is gone has another. It is "" if the system does not tell.
func StartOf(pid int) string {
	if stat, ok := readStat(pid); ok && len(stat) > statStart {
		return stat[statStart]
	}
	return ""
}

// readStat reads /proc/PID/stat from the field after the command's name on; false when the process
// is gone.
func readStat(pid int) ([]string, bool) { return readStatOf("/proc/" + strconv.Itoa(pid) + "/stat") }

// readStatOf is readStat of a file, a thread's too.
func readStatOf(file string) ([]string, bool) {
	stat, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	i := strings.LastIndexByte(string(stat), ')') // the last one: the name may contain anything
	fields := strings.Fields(string(stat[i+1:]))
	return fields, i >= 0 && len(fields) > statFlags
}
