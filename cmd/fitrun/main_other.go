//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "fitrun: FitMPI is for Linux; build and run it there")
	os.Exit(2)
}
