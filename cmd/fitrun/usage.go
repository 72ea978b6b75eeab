//go:build linux

package main

const usage = `fitrun starts the ranks of a FitMPI job, here or on other hosts, shows their output, and ends them together.

Usage:
  fitrun [options] [--] PROGRAM [arguments of the program] [ : [options of its own] PROGRAM [arguments] ... ]
  fitrun [options of the whole job] --app FILE
  fitrun agent --listen HOST:PORT --secret-file FILE      serve a host without sshd (fitrun agent --help)
  fitrun gateway ...                                      join domains that cannot reach each other (fitrun gateway --help)

PROGRAM is a binary (a path, or a command in PATH) or a Go package (a directory such as ./examples/heat2d, a .go file,
or an import path), which is built once before the ranks start. Rank 0 reads fitrun's standard input. Programs between
colons run in one job; each has ranks, and options of its own where the help says so.

Examples:
  fitrun -n 4 ./prog                          four ranks of a binary
  fitrun -n 4 ./examples/heat2d -size 1000    build a package, run it with an option of its own
  fitrun -n 2 -l --timeout 30s ./prog         tag each line with its rank; give up after 30 seconds
  fitrun -n 8 --ranks-per-process 4 ./prog    two processes of four ranks, each rank a thread
  fitrun -H a:2,b:2 ./prog                    two ranks on each of two hosts, reached by ssh
  fitrun --hostfile hosts -ppn 4 ./prog       four ranks on each host of a file
  fitrun -n 1 ./master : -n 7 ./worker        two programs in one job
  fitrun -n 4 --metrics 127.0.0.1:9100 ./prog rank r serves Prometheus metrics at port 9100+r

Options, with the names that Open MPI or MPICH has for them (those marked * may stand before each program, for its ranks
only; the others stand before the first):
 How many, and where
* -n N, -np N           number of ranks; by default as many as the hosts have slots, or 1; may exceed the cores
* -H LIST, -host, -hosts  hosts with commas between them, each NAME or NAME:SLOTS, perhaps with USER@ before it
  --hostfile FILE, --machinefile, -f
                        one host per line: "NAME slots=4 max_slots=8" or "NAME:4", with user@, port=, domain=, agent
  -ppn N, -N N, -npernode, -perhost
                        at most N ranks on each host
  --map-by slot|node    fill one host after the other (default), or take the hosts in turn
  --rank-by slot|node   number the ranks host by host, or the hosts in turn; by default as they were mapped
  --nolocal             no rank on this machine
  --oversubscribe       more ranks than slots are no error
  --launcher ssh|srun   how hosts are reached; srun inside a Slurm allocation, else ssh
  --ssh-args WORDS      options for ssh, for example "-F config -p 2222"
  --launch-timeout D    how long hosts may take to answer (default 60s)
  --preload             copy the program to each host even if a file of its name is there; it is always copied where none is
  --iface LIST          interfaces, addresses or networks (10.0.0.0/8) at which ranks reach each other
  --port-range FROM-TO  ports at which ranks listen
  --tls                 encrypt what ranks of different hosts send each other, with certificates of this job
  --gateway DOMAIN=HOST:PORT
                        ranks of hosts with domain=DOMAIN are reached through the gateway there; may be repeated
  --secret-file FILE    what agents and gateways know us by
  --dry-run             say what would run where, and run nothing
 Programs
* --wdir DIR, -wd       working directory of the ranks
* --path DIRS           where to look for a PROGRAM without a path, before PATH
* -x NAME=VALUE, -env NAME VALUE
                        set a variable; may be repeated
* -x NAME, -envlist A,B pass variables on as they are here (on this machine all of them are)
  -genv NAME VALUE, -genvlist A,B
                        the same for all programs
  --app FILE, -configfile FILE
                        each line of the file is what could stand between two colons
 Processes
  --ranks-per-process N ranks that are threads of one process (default 1); the last process may have fewer. The
                        program must run its ranks by mpi.Main; they share its global variables
  --bind-to WHAT        core (a process runs on the cores of its ranks only) or none; by default core if the cores are
                        divided without remainder, else none
  --report-bindings     say which process is bound to which cores
  --progress POLICY     who moves messages: worker (a thread per rank), assist (the worker, and callers that wait),
                        caller (no worker: messages move only inside calls)
  --transport KIND      auto (for each pair of ranks the best there is), tcp (TCP even between ranks of one machine),
                        or shm (memory: an error where two ranks cannot share any)
  --check               compare the types of sender and receiver in every message, and what ranks call together; slower
 Output
  -l, --tag-output, -prepend-rank
                        put the rank before each line of output: "[3] line", or the ranks of a process: "[0-3] line"
  --timestamp-output    put the time before each line
  --output-filename DIR write each process's output to DIR/rank.R/stdout and DIR/rank.R/stderr instead of showing it
  --timeout DURATION    end the job after this time (90s, 10m, 1h30m; a bare number is seconds)
  --metrics HOST:PORT   ranks serve Prometheus metrics, rank r at PORT+r; with port 0 each picks a port, which is shown
  -v, --verbose         say what fitrun does, and which transports the ranks use
  --version             print the version
  -h, --help            print this

Hosts:
  Without -H and --hostfile, the hosts are those that Slurm or PBS has allocated to this job, else this machine. A host
  without slots has an even share of the ranks. Hosts are reached by ssh, one connection each, without a password asked
  for; fitrun copies itself there if it must, and a program that the host does not have.

Cores:
  With C cores (as CPU affinity and cgroup allow) and N ranks on a host, each rank is given max(1, C/N rounded down)
  cores, and a process those of its ranks, but at most C. GOMAXPROCS of a process is its cores plus its ranks: each rank
  has a worker that moves messages while the others compute. A worker may use all cores of its process.

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
