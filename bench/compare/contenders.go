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
	// link onLink, if there is one, instead of those. Then program, the test, args, with
	// -bind core boundArgs, and the arguments of the experiment. {bin} and {peers} are
	// where the programs of Go and of C were built, {netns} is the script of the links,
	// {ranks} the number of ranks.
	launch, onLink  []string
	unbound, bound  []string
	ranks           []string
	program         []string
	args, boundArgs []string
	env             []string // NAME=VALUE, added to ours

	finishes   bool   // its program ends its rows with an empty line
	mayHang    bool   // it is known to hang: it gets little time and no second chance
	hasOneTest bool   // its program has one test, which has no name
	placeRanks bool   // the launcher does not put ranks into namespaces: placeScript does
	crossed    bool   // its ranks listen at 127.0.0.1 only: on a link that must lead to the other namespace
	output     parser // nil: rows as CSV
}

// contenders are all there are. A FitMPI row is measured with the policy in its name.
func contenders() []*contender {
	list := []*contender{
		fitmpi("assist", "FitMPI", "assist"),
		fitmpi("worker", "FitMPI worker", "worker"),
		fitmpi("caller", "FitMPI caller", "caller"),
		openmpi("openmpi", "Open MPI", "none"),
		openmpi("openmpi-thread", "Open MPI (thread)", "thread", "--mca", "btl_tcp_progress_thread", "1"),
		mpich("mpich", "MPICH", "none"),
		mpich("mpich-async", "MPICH (thread)", "thread", "MPIR_CVAR_ASYNC_PROGRESS=1"),
	}
	list = append(list, rawContenders()...)
	return append(list, matmul(1), matmul(2))
}

// fitmpi is FitMPI with processes as ranks.
func fitmpi(name, title, policy string) *contender {
	return &contender{
		name: name, title: title, peer: "fitmpi", transport: "tcp", policy: policy,
		launch: []string{"{bin}/fitrun", "--transport", "tcp"}, ranks: []string{"-n", "{ranks}"},
		program: []string{"{bin}/fitbench"}, args: []string{"-csv", "-policy", policy}, boundArgs: []string{"-bind", "core"},
		placeRanks: true, crossed: true,
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
		{name: "netpipe", title: "NetPIPE", peer: "raw", transport: "tcp", policy: "netpipe",
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
		program: []string{"{peers}/rawtcp"}, args: append([]string{"-policy", policy}, options...),
	}
	if len(options) > 0 {
		c.policy += "-cubic" // as the program calls it
	}
	return c
}

// matmul is the example of that name, the benchmark of the PMPI paper: a master and
// workers, of which one rank alone is both.
func matmul(ranks int) *contender {
	c := fitmpi("matmul", "FitMPI", "assist")
	c.name = map[int]string{1: "matmul-1", 2: "matmul-2"}[ranks]
	c.program, c.args, c.boundArgs, c.output = []string{"{bin}/matmul"}, nil, nil, parseMatmul
	c.env, c.hasOneTest = []string{"FITMPI_PROGRESS=assist"}, true
	return c
}

// byName finds contenders by name.
func byName(list []*contender) map[string]*contender {
	m := map[string]*contender{}
	for _, c := range list {
		m[c.name] = c
	}
	return m
}
