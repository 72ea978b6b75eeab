//go:build linux

package main

import "slices"

// contender is one way to run a test: a library with its transport and its policy.
type contender struct {
	name  string // unique, for -list and for experiments
	title string // column of a table, curve of a plot

	// What its rows are labelled with; a program that reports others has not
	// measured what was asked for.
	peer, transport, policy string

	// The command is launch, unbound or bound, ranks with the number of ranks; or on a
	// link onLink, if there is one, instead of those. Then program, the test, args, and
	// the arguments of the experiment. {bin} and {peers} are where the programs of Go and
	// of C were built, {netns} is the script of the links, {ranks} the number of ranks.
	launch, onLink []string
	unbound, bound []string
	ranks          []string
	program        []string
	args           []string
	env            []string // NAME=VALUE, added to ours

	finishes   bool   // its program ends its rows with an empty line
	mayHang    bool   // it is known to hang: it gets little time and no second chance
	hasOneTest bool   // its program has one test, which has no name
	placeRanks bool   // the launcher does not put ranks into namespaces: placeScript does
	crossed    bool   // its ranks listen at 127.0.0.1 only: on a link that must lead to the other namespace
	answers    bool   // it says what it has found out, and others must have found out the same
	output     parser // nil: rows as CSV
}

// contenders are all there are. A FitMPI row is measured with the policy in its name.
// Names without a transport are of TCP.
func contenders() []*contender {
	list := []*contender{
		fitmpi("assist", "FitMPI", "assist", "tcp"),
		fitmpi("worker", "FitMPI worker", "worker", "tcp"),
		fitmpi("caller", "FitMPI caller", "caller", "tcp"),
		openmpi("openmpi", "Open MPI", "none"),
		openmpi("openmpi-thread", "Open MPI (thread)", "thread", "--mca", "btl_tcp_progress_thread", "1"),
		mpich("mpich", "MPICH", "none"),
		mpich("mpich-async", "MPICH (thread)", "thread", "MPIR_CVAR_ASYNC_PROGRESS=1"),
	}
	list = append(list, memoryContenders()...)
	list = slices.Concat(list, rawContenders(), rawGoContenders())
	list = append(list, rawHelped("spin", "polling"), rawHelped("block", "blocking"))
	return slices.Concat(list, applicationContenders(), checkContenders())
}

// memoryContenders are those whose ranks share memory: processes of one host, or threads
// of one process, which only FitMPI has.
func memoryContenders() []*contender {
	threads := fitmpi("threads", "FitMPI threads", "assist", "threads")
	threads.launch, threads.unbound, threads.bound, threads.ranks = nil, nil, nil, nil
	threads.args = append(threads.args, "-transport", "auto", "-ranks", "{ranks}")
	return []*contender{
		threads,
		fitmpi("assist-shm", "FitMPI (shm)", "assist", "shm"),
		fitmpi("worker-shm", "FitMPI worker (shm)", "worker", "shm"),
		fitmpi("caller-shm", "FitMPI caller (shm)", "caller", "shm"),
		openmpiShm("openmpi-shm", "Open MPI (shm)"),
		mpichShm("mpich-shm", "MPICH (shm)"),
	}
}

// fitmpi is FitMPI with processes as ranks. Like its peers it is told the transport, and
// bound no more and no less than they are.
func fitmpi(name, title, policy, transport string) *contender {
	return &contender{
		name: name, title: title, peer: "fitmpi", transport: transport, policy: policy,
		launch:  []string{"{bin}/fitrun", "--transport", transport},
		unbound: []string{"--bind-to", "none"}, bound: []string{"--bind-to", "core"}, ranks: []string{"-n", "{ranks}"},
		program: []string{"{bin}/fitbench"}, args: []string{"-csv", "-policy", policy},
		placeRanks: transport == "tcp", crossed: true,
	}
}

func openmpi(name, title, policy string, options ...string) *contender {
	return &contender{
		name: name, title: title, peer: "openmpi", transport: "tcp", policy: policy,
		launch: slices.Concat([]string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "pml", "ob1",
			"--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo"}, options),
		onLink:  slices.Concat([]string{"{netns}", "openmpi"}, options, []string{"--"}),
		unbound: []string{"--bind-to", "none"}, bound: []string{"--bind-to", "core"},
		ranks: []string{"-np", "{ranks}"}, program: []string{"{peers}/openmpi/mpibench"},
		args:     []string{"-peer", "openmpi", "-transport", "tcp", "-policy", policy},
		finishes: true, mayHang: policy == "thread",
	}
}

// openmpiShm is Open MPI through shared memory, which it calls vader.
func openmpiShm(name, title string) *contender {
	c := openmpi(name, title, "none")
	c.launch = []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--mca", "pml", "ob1", "--mca", "btl", "vader,self"}
	c.transport, c.onLink = "shm", nil
	c.args = []string{"-peer", "openmpi", "-transport", "shm", "-policy", "none"}
	return c
}

// mpichShm is MPICH as it is if it is left alone: through shared memory.
func mpichShm(name, title string) *contender {
	c := mpich(name, title, "none")
	c.transport, c.onLink, c.env = "shm", nil, nil
	c.args = []string{"-peer", "mpich", "-transport", "shm", "-policy", "none"}
	return c
}

// ucxTCP keeps Debian's MPICH on TCP. It is built on UCX, which goes through shared
// memory between ranks of a host whatever MPIR_CVAR_NOLOCAL says: 0.13 us for 8 bytes
// instead of 4.1, and no TCP segment.
var ucxTCP = []string{"UCX_TLS=tcp,self", "UCX_NET_DEVICES=lo"}

func mpich(name, title, policy string, env ...string) *contender {
	return &contender{
		onLink: []string{"{netns}", "mpich"},
		name:   name, title: title, peer: "mpich", transport: "tcp", policy: policy,
		launch:  []string{"mpirun.mpich"},
		unbound: []string{"-bind-to", "none"}, bound: []string{"-bind-to", "core"},
		ranks: []string{"-np", "{ranks}"}, program: []string{"{peers}/mpich/mpibench"},
		args: []string{"-peer", "mpich", "-transport", "tcp", "-policy", policy}, env: slices.Concat(env, ucxTCP),
		finishes: true, mayHang: true,
	}
}

// rawContenders use no library: what the machine can do.
func rawContenders() []*contender {
	return []*contender{
		raw("raw-spin", "raw, polling", "spin"),
		raw("raw-block", "raw, blocking", "block"),
		raw("raw-spin-cubic", "raw, polling, cubic", "spin", "-congestion", "cubic"),
		raw("raw-block-cubic", "raw, blocking, cubic", "block", "-congestion", "cubic"),
		{name: "netpipe", title: "NetPIPE", peer: "raw", transport: "tcp", policy: "netpipe", onLink: []string{"env", "NETPIPE_LINK=yes"},
			program: []string{"sh", "-c", netpipeScript, "netpipe"}, output: parseNetpipe, hasOneTest: true},
		{name: "limits", title: "this machine", peer: "raw", transport: "thread", policy: "none",
			program: []string{"{peers}/limits"}, hasOneTest: true},
	}
}

// raw is a program over sockets, under the congestion control of the system unless
// options name another: FitMPI asks for cubic.
func raw(name, title, policy string, options ...string) *contender {
	c := &contender{
		name: name, title: title, peer: "raw", transport: "tcp", policy: policy,
		onLink:  []string{"{netns}", "raw"},
		program: []string{"{peers}/rawtcp"}, args: append([]string{"-policy", policy}, options...),
	}
	if len(options) > 0 {
		c.policy += "-cubic" // as the program calls it
	}
	return c
}

// rawHelped is a thread that computes beside a helper thread that moves messages: what a plain
// progress thread costs. It does test solve only.
func rawHelped(policy, title string) *contender {
	return &contender{
		name: "raw-thread-" + policy, title: "raw, thread " + title, peer: "raw", transport: "tcp", policy: "thread-" + policy,
		onLink: []string{"{netns}", "raw"}, program: []string{"{peers}/raw_solve"}, args: []string{"-policy", policy},
	}
}

// byName finds contenders by name.
func byName(list []*contender) map[string]*contender {
	m := map[string]*contender{}
	for _, c := range list {
		m[c.name] = c
	}
	return m
}

// isPeer reports whether c is a library that a user could have instead of ours.
func (c *contender) isPeer() bool { return c.peer == "openmpi" || c.peer == "mpich" }
