//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// TestWorkersThreadIsAsBefore: the thread of a worker, which goes on to other goroutines, and
// threads and processes that it begets are scheduled like any other.
func TestWorkersThreadIsAsBefore(t *testing.T) {
	all := sys.AllowedCPUs()
	e := job(t, 1, Assist, func(c *Config) { c.Moderation, c.WorkerCPUs = time.Millisecond, all })[0]
	e.Close(time.Minute)
	endc := make(chan struct{})
	go func() {
		defer close(endc)
		runtime.LockOSThread() // once more than the worker unlocks it: this thread ends here
		if err := sys.HurryThread(0); err != nil {
			t.Error(err)
		}
		if err := sys.SetThreadCPUs(0, all[:1]); err != nil {
			t.Error(err)
		}
		before := threadHere(t)
		e.work() // finds that it is to stop
		if after := threadHere(t); after != before {
			t.Errorf("nice value, policy and processors were %s and are %s", before, after)
		}
	}()
	<-endc
}

// threadHere is what may differ of the calling thread: its nice value, its policy and the
// processors that it may run on.
func threadHere(t *testing.T) string {
	cpus, err := sys.ThreadCPUs(0)
	if err != nil {
		t.Error(err)
	}
	tid := strconv.Itoa(sys.ThreadID())
	return fmt.Sprint(threadStat(t, tid, 19), " ", threadStat(t, tid, 41), " ", cpus)
}

// threadStat is a field of what the kernel says of a thread of this process, from 3 on (proc(5)).
func threadStat(t *testing.T, tid string, field int) string {
	stat, err := os.ReadFile("/proc/self/task/" + tid + "/stat")
	if err != nil {
		t.Error(err)
		return ""
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return string(bytes.Fields(rest)[field-3])
}
