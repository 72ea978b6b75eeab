//go:build linux

package main

const usage = `fitrun starts the ranks of a FitMPI job on this machine, shows their output, and ends them together.

Usage:
  fitrun [options] [--] PROGRAM [arguments of the program]

PROGRAM is a binary (a path, or a command in PATH) or a Go package (a directory such as ./examples/heat2d, a .go file,
or an import path), which is built once before the ranks start. Rank 0 reads fitrun's standard input.

Examples:
  fitrun -n 4 ./prog                          four ranks of a binary
  fitrun -n 4 ./examples/heat2d -size 1000    build a package, run it with an option of its own
  fitrun -n 2 -l --timeout 30s ./prog         tag each line with its rank; give up after 30 seconds
  fitrun -n 4 --metrics 127.0.0.1:9100 ./prog rank r serves Prometheus metrics at port 9100+r

Options:
  -n N, -np N           number of ranks (default 1); may exceed the number of cores
  -l, --tag-output      put the rank before each line of output: "[3] line"
  --timeout DURATION    end the job after this time (90s, 10m, 1h30m; a bare number is seconds)
  --progress POLICY     who moves messages: worker (a thread per rank), assist (the worker, and callers that wait),
                        caller (no worker: messages move only inside calls)
  --transport KIND      tcp (TCP even between ranks of this machine) or auto (the best there is)
  --metrics HOST:PORT   ranks serve Prometheus metrics, rank r at PORT+r; with port 0 each picks a port, which is shown
  -x NAME=VALUE         set a variable for the ranks; may be repeated
  -x NAME               pass a variable on as it is here (on this machine all of them are)
  --wdir DIR            working directory of the ranks
  -v, --verbose         say what fitrun does
  --version             print the version
  -h, --help            print this

Cores:
  With C cores (as CPU affinity and cgroup allow) and N ranks, each rank is given max(1, C/N rounded down) cores and
  GOMAXPROCS of one more, for the worker that moves messages while the others compute. Ranks are not pinned.

Environment:
  GOMAXPROCS            if set, is passed on unchanged
  FITMPI_PROGRESS       set for the ranks by --progress
  FITMPI_TRANSPORT      set for the ranks by --transport
  FITMPI_BOOT_FD        set by fitrun: number of the descriptor by which a rank talks to it

Exit codes:
  0                     every rank exited with 0, after mpi.Finalize if it called mpi.Init
  code of a rank        the lowest rank that failed on its own: its exit code, 128+N if signal N killed it, the code it
                        passed to Abort, 1 if it exited with 0 between mpi.Init and mpi.Finalize
  1                     fitrun itself met an error
  2                     wrong use, or a program that does not build or start
  110                   --timeout passed
  130, 143              ended by ^C or SIGTERM (128 + the signal); the ranks get SIGTERM and 5 seconds, a second signal
                        kills them at once
`
