package sys

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// ProcessState is what a process is doing, as far as that explains that nothing is heard of it.
type ProcessState struct {
	Gone    bool // it is on its way out, or is not there
	Stopped bool // by a signal, all of it
	Tracer  int  // process that traces it, a debugger for example; 0 if there is none
}

// StateOf says what the process pid is doing. One of which nothing can be read is gone.
func StateOf(pid int) ProcessState {
	if IsExiting(pid) {
		return ProcessState{Gone: true}
	}
	dir := "/proc/" + strconv.Itoa(pid)
	s := ProcessState{Tracer: tracerIn(dir + "/status")}
	stat, ok := readStat(pid)
	s.Stopped = ok && stat[statState] == "T"
	if s.Tracer != 0 || s.Stopped {
		return s
	}
	threads, _ := filepath.Glob(dir + "/task/*/status") // the pattern is right
	for _, t := range threads {                         // a debugger may have begun with another thread
		if s.Tracer = tracerIn(t); s.Tracer != 0 {
			return s
		}
	}
	return s
}

// IsHalted reports whether a process does not go on until it is told to: a signal has stopped it,
// or a debugger.
func IsHalted(pid int) bool {
	stat, ok := readStat(pid)
	return ok && (stat[statState] == "T" || stat[statState] == "t")
}

// IsRunnable reports whether a thread of a process runs, or waits for nothing but a processor.
func IsRunnable(pid int) bool {
	threads, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/stat") // the pattern is right
	return slices.ContainsFunc(threads, func(file string) bool {
		stat, ok := readStatOf(file)
		return ok && stat[statState] == "R"
	})
}

// Tracer is the process that traces this one, as a debugger does, 0 if there is none.
func Tracer() int { return tracerIn("/proc/self/status") }

// tracerIn reads a status file; what cannot be read has no tracer. The kernel names the thread that
// traces, and people know the process that it is of.
func tracerIn(file string) int {
	thread := numberIn(file, "TracerPid")
	if thread == 0 {
		return 0
	}
	if process := numberIn("/proc/"+strconv.Itoa(thread)+"/status", "Tgid"); process != 0 {
		return process
	}
	return thread
}

// numberIn is a field of a status file, 0 if there is none.
func numberIn(file, field string) int {
	status, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\n"+field+":\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.Atoi(string(line)) // 0 if it is no number
	return n
}
