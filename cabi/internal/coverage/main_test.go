package main

import (
	"os"
	"testing"

	"github.com/fitmpi/fitmpi/cabi/facts"
)

// COVERAGE.md is what the Go half says now.
func TestCurrent(t *testing.T) {
	table, err := facts.Load()
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile("../../COVERAGE.md")
	if err != nil || string(have) != coverage(table) {
		t.Errorf("COVERAGE.md is older than the Go half: run go generate in the directory cabi (%v)", err)
	}
}
