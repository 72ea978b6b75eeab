package sys

import "time"

// Vigil is what looks at a process have found. Whether the kernel lets a process run is what its
// time on processors says. Nothing in the process can hide that: not a runtime that waits for a
// loop that it may not interrupt, nor a call of C that does not return. The zero Vigil has not
// looked yet.
type Vigil struct {
	used time.Duration // on processors, at the last look
	idle time.Duration // for how long that has not changed
}

// Look notes whether the process, which consists of pids, has run since the last look, after which
// so much has passed. It returns for how long, at least, it has neither run nor waited for a
// processor.
func (v *Vigil) Look(pids []int, passed time.Duration) (idle time.Duration) {
	var used time.Duration
	for _, pid := range pids {
		t, _ := ProcessTime(pid) // of one that is gone it is none
		used += t
	}
	v.idle += passed
	if used != v.used || anyRunnable(pids) {
		v.used, v.idle = used, 0
	}
	return v.idle
}

func anyRunnable(pids []int) bool {
	for _, pid := range pids {
		if !IsHalted(pid) && IsRunnable(pid) {
			return true
		}
	}
	return false
}
