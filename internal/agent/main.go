//go:build linux

package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Arg is the first argument of a fitrun that is to be an agent.
const Arg = "agent"

// Main is fitrun as an agent, with the arguments after Arg. It returns the exit code.
func Main(args []string) int {
	if err := serveArgs(args); err != nil {
		fmt.Fprintf(os.Stderr, "fitrun agent: %v\n", err)
		return 1
	}
	return 0
}

// serveArgs serves as the prologue wants it: --stdio SILENCE [HASH].
func serveArgs(args []string) error {
	if len(args) < 2 || len(args) > 3 || args[0] != "--stdio" {
		return errors.New("it is started by fitrun on other hosts, and is of no use by hand")
	}
	silence, err := time.ParseDuration(args[1])
	if err != nil || silence <= 0 {
		return fmt.Errorf("%s is no duration", args[1])
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	if len(args) == 3 { // the host has no sha256sum
		if err := verify(exe, args[2]); err != nil {
			return err
		}
	}
	in, err := pollable(os.Stdin)
	if err != nil {
		return err
	}
	out, err := pollable(os.Stdout)
	if err != nil {
		return err
	}
	return Serve(in, out, silence, exe)
}

// verify removes a copy that is not whole.
func verify(exe, want string) error {
	sum, _, err := SumFile(exe)
	if err == nil && sum != want {
		os.Remove(exe)
		err = fmt.Errorf("the copy of fitrun in %s was damaged, and is removed; start the job again", filepath.Dir(exe))
	}
	return err
}

// pollable is a duplicate of f of which reads and writes can be interrupted by Close.
func pollable(f *os.File) (*os.File, error) {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return nil, os.NewSyscallError("dup", err)
	}
	syscall.CloseOnExec(fd)
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
