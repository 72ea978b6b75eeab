//go:build !fitmpi_portable

package sys

import (
	"os/exec"
	"slices"
	"testing"
)

func TestExitOfChild(t *testing.T) {
	cmd := exec.Command("cat") // lives until its standard input ends
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	if IsExiting(pid) {
		t.Error("IsExiting while it runs")
	}
	if kids, err := Children(); err != nil || !slices.Contains(kids, pid) {
		t.Errorf("children %v, %v; want %d among them", kids, err, pid)
	}
	stdin.Close()
	if err := WaitExit(pid); err != nil {
		t.Fatal(err)
	}
	if !IsExiting(pid) {
		t.Error("not IsExiting after its exit")
	}
	if err := cmd.Wait(); err != nil { // it was left to be reaped
		t.Error(err)
	}
	if !IsExiting(pid) {
		t.Error("not IsExiting when it is reaped")
	}
}
