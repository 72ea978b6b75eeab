//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "rawgo: FitMPI and its benchmarks run on Linux only")
	os.Exit(1)
}
