//go:build !fitmpi_portable

package sys

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestVigil: this process has run at every look; of one that waits it is counted for how long it
// has not, once it waits, and of one that is not there too.
func TestVigil(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer in.Close()
	var own, waits, none Vigil
	for until := time.Now().Add(time.Minute); waits.Look([]int{cmd.Process.Pid}, time.Hour) < 2*time.Hour; time.Sleep(time.Millisecond) {
		if idle := own.Look([]int{os.Getpid()}, time.Hour); idle != 0 {
			t.Fatalf("this process has not run for %v", idle)
		}
		if time.Now().After(until) {
			t.Fatal("a process that waits is never idle")
		}
	}
	const no = 1<<22 + 1 // more than any process has
	none.Look([]int{no}, time.Hour)
	if idle := none.Look([]int{no}, time.Hour); idle != 2*time.Hour {
		t.Errorf("one that is not there has not run for %v", idle)
	}
}
