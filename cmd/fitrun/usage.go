//go:build linux

package main

const usage = `fitrun starts the ranks of a FitMPI job, here or on other hosts, shows their output, and ends them together.

Usage:
  fitrun [options] [--] PROGRAM [arguments of the program] [ : [options of its own] PROGRAM [arguments] ... ]
  fitrun [options of the whole job] --app FILE
  fitrun status [PID]                                     what running jobs do, and why they wait (fitrun status --help)
  fitrun tune [-H a,b]                                    find thresholds by measuring, for later jobs (fitrun tune --help)
  fitrun agent --listen HOST:PORT --secret-file FILE      serve a host without sshd (fitrun agent --help)
  fitrun nameserver ...                                   keep the names of ports for several jobs (fitrun nameserver --help)
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
  fitrun -n 4 --metrics :9600 ./prog          serve Prometheus metrics of all ranks at http://127.0.0.1:9600/metrics
  fitrun -n 4 --web :8080 ./prog              look at the job at http://127.0.0.1:8080/

Options, with the names that Open MPI or MPICH has for them (those marked * may stand before each program, for its ranks
only; the others stand before the first):
 How many, and where
* -n N, -np N           number of ranks; by default as many as the hosts have slots, or 1; may exceed the cores
* -H LIST, -host, -hosts  hosts with commas between them, each NAME or NAME:SLOTS, perhaps with USER@ before it
  --hostfile FILE, --machinefile, -f
                        one host per line: "NAME slots=4 max_slots=8" or "NAME:4", with user@, port=, domain=, agent
  -ppn N, -N N, -npernode, -perhost
                        at most N ranks on each host
  --map-by slot|node|load
                        fill one host after the other (default), take the hosts in turn, or put each rank where the most of
                        a core is left, by the load that hosts report when they are reached
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
  --print-config, --print-config=json
                        print all variables that configure ranks and fitrun, with their values and where these come from,
                        as they would be with the other options; no program is needed
 Programs
* --wdir DIR, -wd       working directory of the ranks
* --path DIRS           where to look for a PROGRAM without a path, before PATH
* -x NAME=VALUE, -env NAME VALUE
                        set a variable; may be repeated
* -x NAME, -envlist A,B
                        pass variables on as they are here (on this machine all of them are)
  -genv NAME VALUE, -genvlist A,B
                        the same for all programs
  --app FILE, -configfile FILE
                        each line of the file is what could stand between two colons
 Processes
  --ranks-per-process N
                        ranks that are threads of one process (default 1); the last process may have fewer. The
                        program must run its ranks by mpi.Main; they share its global variables
  --bind-to WHAT        core (a process runs on the cores of its ranks only) or none; by default core if the cores are
                        divided without remainder, but for workers where cores are few; else none
  --report-bindings     say which process is bound to which cores
  --progress POLICY     what moves messages: worker (a thread per rank), assist (the worker, and callers that wait),
                        caller (no worker: messages move only inside calls)
  --heartbeat TIME      how often ranks show each other that they live (default 1s)
  --heartbeat-timeout TIME
                        a rank of which nothing is heard for so long is taken for dead (default 60s; 0 never); it is
                        ended then. One that is held in a debugger is left alone, and
                        so is one that the kernel runs
  --transport KIND      auto (for each pair of ranks the best there is), tcp (TCP even between ranks of one machine),
                        or shm (memory: an error where two ranks cannot share any)
  --check               compare the types of sender and receiver in every message, and what ranks call together; say at the
                        end what was not received or completed, and at Wait which send buffers were changed; slower
 Output
  -l, --tag-output, -prepend-rank
                        put the rank before each line of output: "[3] line", or the ranks of a process: "[0-3] line"
  --timestamp-output    put the time before each line
  --output-filename DIR
                        write each process's output to DIR/rank.R/stdout and DIR/rank.R/stderr instead of showing it
  --on-deadlock WHAT    when no rank can go on, since each waits for others that wait: report (default) says which rank
                        waits for which, where and why; abort ends the job as well, unless a signal may let it go on; off
                        does not look
  --with-ft             go on when a rank dies: the others learn of it (docs/LAUNCH.md). --with-ft ulfm is the same
  --restart N           start the job again when it fails, up to N times: from its last checkpoint, if it keeps some (package mpi)
  --restart-dir DIR     where checkpoints are kept that name no directory (default .fitmpi-checkpoint, where the ranks run)
  --timeout DURATION    end the job after this time (90s, 10m, 1h30m; a bare number is seconds)
  --metrics ADDR        serve Prometheus metrics of all ranks, at [HOST]:PORT or unix:PATH: /metrics, /rank/N/metrics, and
                        /sd for HTTP service discovery; without HOST on the loopback interface; port 0 is any, which is shown
  --rank-metrics HOST:PORT
                        ranks serve their own, rank r at PORT+r; with port 0 each picks a port, which is shown. The
                        program must import github.com/fitmpi/fitmpi/metrics
  --web HOST:PORT       show the job in a browser while it runs: ranks, how much each sends to each, waiting, queues, events;
                        without HOST on this machine only, else with a token; with port 0 a free one. The address is shown
  --http-auth FILE      these three are shown to clients that give the secret in FILE (32 bytes or more, mode 600), as a bearer
                        token or as a password; other machines need it, but for the page, which has its token
  --http-open           or to every client that reaches them
  --trace FILE          write what the ranks did to FILE (.json, or .json.gz), for ui.perfetto.dev: calls, messages, workers
  --trace-buffer SIZE   memory in which each rank keeps its last events, for example 64M (default 16M)
  --trace-last DURATION
                        leave out of the trace what was before its last 30s, or as long as that is
  --progress-line       one line below the output says what the job does now, if stderr is a terminal
  --summary             say at the end for how long each rank ran and waited and what it used, and what would help most
  --summary-file FILE   write that to FILE as JSON
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
  FITMPI_TUNED          the file of what fitrun tune has found, or none
  FITMPI_SSH, FITMPI_SSH_ARGS
                        how other hosts are reached: the command, and options for it (as --ssh-args)
  FITMPI_CABI           where FitMPI's C library was built, for programs that were linked with that of MPICH or Open MPI
  FITMPI_...            more for the ranks: --print-config lists them, and docs/CONFIG.md
  FITMPI_BOOT_FD        set by fitrun: numbers of the descriptors by which the ranks of a process talk to it

Exit codes:
  0                     every rank exited with 0, after mpi.Finalize if it called mpi.Init
  code of a rank        the lowest rank that failed on its own: its exit code, 128+N if signal N killed it, the code it
                        passed to Abort, 1 if it exited with 0 between mpi.Init and mpi.Finalize
  with --with-ft        0 if some rank ended well and none that lived said that it failed; else the code of the first
                        survivor that did; if all died, that of the first. Abort ends all, with its code
  1                     fitrun itself met an error
  2                     wrong use, or a program that does not build or start
  110                   --timeout passed
  111                   --on-deadlock abort ended the job
  130, 143              ended by ^C or SIGTERM (128 + the signal); the ranks get SIGTERM and 5 seconds, a second signal
                        kills them at once
^Z (SIGTSTP) stops all ranks and fitrun, SIGCONT lets them go on
SIGUSR1 and SIGUSR2 are passed on to all processes that fitrun has started
`
