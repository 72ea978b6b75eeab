//go:build linux

package main

// rawGoTitles are the styles of bench/rawgo, and what a column is called.
var rawGoTitles = [][2]string{
	{"conn", "Go, net.Conn"}, {"bufio", "Go, bufio"}, {"goroutine", "Go, goroutine and channel"},
	{"poll", "Go, netpoll polling"}, {"wait", "Go, netpoll blocking"}, {"hold", "Go, netpoll keeping its P"},
}

// rawGo are all of them.
var rawGo = rawGoNames()

func rawGoNames() (names []string) {
	for _, s := range rawGoTitles {
		names = append(names, "raw-go-"+s[0])
	}
	return names
}

// rawGoContenders are programs of Go over sockets, under the congestion control that FitMPI asks
// for.
func rawGoContenders() (list []*contender) {
	for _, s := range rawGoTitles {
		list = append(list, &contender{
			name: "raw-go-" + s[0], title: s[1], peer: "raw", transport: "tcp", policy: "go-" + s[0],
			onLink: []string{"{netns}", "raw"}, program: []string{"{bin}/rawgo"}, args: []string{"-policy", s[0], "-congestion", "cubic"},
		})
	}
	return list
}

// coreScript puts each of the two ranks of a job onto a core of its own, or both onto one: the
// launchers bind in other ways each. As placeScript it goes by the order in which ranks arrive.
// Arguments: the directory, the core of the first, that of the other, the command.
const coreScript = `dir=$1; core=$3
mkdir "$dir/first" 2>/dev/null && core=$2
shift 3
exec taskset -c "$core" "$@"`
