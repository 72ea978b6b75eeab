package main

import (
	"bytes"
	"os"
	"testing"
)

func TestGenerated(t *testing.T) {
	want, err := source()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../mpi/numeric.gen.go")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("mpi/numeric.gen.go is stale (%v): go generate ./mpi", err)
	}
}
