//go:build linux && !fitmpi_portable

package engine

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// TestWorkersThreadIsAsBefore: the thread of a worker, which goes on to other goroutines, and
// threads and processes that it begets are scheduled like any other.
func TestWorkersThreadIsAsBefore(t *testing.T) {
	e := job(t, 1, Assist, nil)[0]
	e.Close(time.Minute)
	endc := make(chan struct{})
	go func() {
		defer close(endc)
		runtime.LockOSThread() // once more than the worker unlocks it: this thread ends here
		if err := sys.HurryThread(0); err != nil {
			t.Error(err)
		}
		before := niceHere(t)
		e.work() // finds that it is to stop
		if after := niceHere(t); after != before {
			t.Errorf("the nice value was %s and is %s", before, after)
		}
	}()
	<-endc
}

// niceHere is the nice value of the calling thread.
func niceHere(t *testing.T) string {
	stat, err := os.ReadFile("/proc/thread-self/stat")
	if err != nil {
		t.Error(err)
		return ""
	}
	_, rest, _ := bytes.Cut(stat, []byte(") ")) // from the third field on
	return string(bytes.Fields(rest)[19-3])
}
