package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// wrapper is fitmpicc, and with another compiler fitmpicxx: a script, as that of other MPI
// libraries is a program that calls the compiler. It finds the library from where it is itself.
const wrapper = `#!/bin/sh
# Compiles and links programs that use FitMPI. With -show it prints the command.
dir=$(CDPATH= cd -- "$(dirname -- "$(readlink -f -- "$0")")/.." && pwd)
compiler=${%[1]s:-%[2]s}
flags="-I$dir/include"
libs="-L$dir/lib -Wl,-rpath,$dir/lib -lmpi_abi"
for arg; do
	case $arg in
	-c|-S|-E) libs= ;;
	-show) show=echo ;;
	esac
done
if test "$show"; then
	echo $compiler $flags "$@" $libs | sed 's/ -show//'
	exit
fi
exec $compiler $flags "$@" $libs
`

const pkgConfig = `prefix=${pcfiledir}/../..
Name: fitmpi
Description: FitMPI's C library with the standard ABI of MPI
Version: 5.0
Cflags: -I${prefix}/include
Libs: -L${prefix}/lib -Wl,-rpath,${prefix}/lib -lmpi_abi
`

// files writes what is no library.
func files(_ context.Context, out string) error {
	header, err := os.ReadFile("include/mpi.h")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name, text string
		mode       os.FileMode
	}{
		{"include/mpi.h", string(header), 0o644},
		{"lib/pkgconfig/fitmpi.pc", pkgConfig, 0o644},
		{"bin/fitmpicc", fmt.Sprintf(wrapper, "FITMPI_CC", "cc"), 0o755},
		{"bin/fitmpicxx", fmt.Sprintf(wrapper, "FITMPI_CXX", "c++"), 0o755},
	} {
		path := filepath.Join(out, f.name)
		if err := os.WriteFile(path, []byte(f.text), f.mode); err != nil {
			return err
		}
		if err := os.Chmod(path, f.mode); err != nil {
			return err
		}
	}
	return nil
}
