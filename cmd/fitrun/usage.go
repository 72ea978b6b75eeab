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
  fitrun -n 8 --ranks-per-process 4 ./prog    two processes of four ranks, each rank a thread
  fitrun -n 4 --metrics 127.0.0.1:9100 ./prog rank r serves Prometheus metrics at port 9100+r

Options:
  -n N, -np N           number of ranks (default 1); may exceed the number of cores
  --ranks-per-process N ranks that are threads of one process (default 1); the last process may have fewer. The
                        program must run its ranks by mpi.Main; they share its global variables
  --bind-to WHAT        core (a process runs on the cores of its ranks only) or none; by default core if the cores are
                        divided without remainder, else none
  --report-bindings     say which process is bound to which cores
  -l, --tag-output      put the rank before each line of output: "[3] line", or the ranks of a process: "[0-3] line"
  --timeout DURATION    end the job after this time (90s, 10m, 1h30m; a bare number is seconds)
  --progress POLICY     who moves messages: worker (a thread per rank), assist (the worker, and callers that wait),
                        caller (no worker: messages move only inside calls)
  --transport KIND      auto (for each pair of ranks the best there is), tcp (TCP even between ranks of this machine),
                        or shm (memory: an error where two ranks cannot share any)
  --check               compare the types of sender and receiver in every message, and what ranks call together; slower
  --metrics HOST:PORT   ranks serve Prometheus metrics, rank r at PORT+r; with port 0 each picks a port, which is shown
  -x NAME=VALUE         set a variable for the ranks; may be repeated
  -x NAME               pass a variable on as it is here (on this machine all of them are)
  --wdir DIR            working directory of the ranks
  -v, --verbose         say what fitrun does, and which transports the ranks use
  --version             print the version
  -h, --help            print this

Cores:
  With C cores (as CPU affinity and cgroup allow) and N ranks, each rank is given max(1, C/N rounded down) cores, and a
  process those of its ranks, but at most C. GOMAXPROCS of a process is its cores plus its ranks: each rank has a worker
  that moves messages while the others compute. A worker may use all cores of its process.

Environment:
  GOMAXPROCS            if set, is passed on unchanged
  FITMPI_PROGRESS       set for the ranks by --progress
  FITMPI_TRANSPORT      set for the ranks by --transport
  FITMPI_CHECK          set to 1 for the ranks by --check
  FITMPI_BOOT_FD        set by fitrun: numbers of the descriptors by which the ranks of a process talk to it

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
