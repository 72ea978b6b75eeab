//go:build linux

package executable

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// envHears makes the test binary a process that starts a program, which interrupts itself.
const envHears = "EXECUTABLE_TEST_HEARS"

func TestMain(m *testing.M) {
	how := os.Getenv(envHears)
	if how == "" {
		os.Exit(m.Run())
	}
	if how == "yes" {
		HearSignals()
	}
	out, err := exec.Command("sh", "-c", "kill -INT $$; echo goes on").CombinedOutput()
	fmt.Printf("%s%v", out, err)
}

// TestHearSignals: in the background of a shell a program hears what interrupts it.
func TestHearSignals(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]string{"yes": "signal: interrupt", "no": "goes on\n<nil>"} {
		cmd := exec.Command("sh", "-c", "trap '' INT; exec "+self)
		cmd.Env = append(os.Environ(), envHears+"="+how)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("hears: %s: %v, %q, want %q", how, err, out, want)
		}
	}
}
