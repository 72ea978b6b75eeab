//go:build linux

package main

import (
	"slices"
	"strconv"
	"strings"
)

// placeScript puts each of the two ranks of a job into a namespace of its own. A rank
// learns its number only after it was started, so it goes by the order in which ranks
// arrive; making a directory is what only one of them can do. Arguments: the directory,
// the command.
const placeScript = `dir=$1; shift
ns=b
mkdir "$dir/first" 2>/dev/null && ns=a
exec ip netns exec "fitmpi-bench-$ns" "$@"`

// netpipeScript starts both ends of NetPIPE and writes its table of figures. The sender
// gives up at once when the receiver does not listen yet, so it tries for five seconds;
// both must be told the same sizes, or they wait for each other at the end. With NETPIPE_LINK set
// each is in a namespace of its own.
const netpipeScript = `dir=$(mktemp -d) && cd "$dir" || exit 1
trap 'cd /; rm -rf "$dir"; kill $receiver 2>/dev/null' EXIT
here= there= host=127.0.0.1
[ -z "$NETPIPE_LINK" ] || { here="ip netns exec fitmpi-bench-a" there="ip netns exec fitmpi-bench-b" host=10.213.77.2; }
$there NPtcp -p 0 "$@" >/dev/null 2>&1 & receiver=$!
tries=0
until $here NPtcp -h $host -p 0 -o np.out "$@" >/dev/null 2>log; do
	tries=$((tries+1))
	[ $tries -lt 50 ] || { tail -n 1 log >&2; exit 1; }
	sleep 0.1
done
wait $receiver
cat np.out`

// setting is what a command depends on besides contender and experiment.
type setting struct {
	bin, peers string // directories of programs
	bind       string // none or core
	suites     string // directory of benchmarks that are not ours, if the user has them
	netns      string // the script of the links
	places     string // a new directory for placeScript and coreScript
	pace       int    // steps of work in a millisecond of test solve; 0: each program calibrates
	quick      bool
	answers    *answers // of all applications so far; nil: unchecked
}

// command is the command line of a run.
func command(c *contender, e *experiment, s setting) []string {
	var line []string
	switch {
	case e.network != loopback && c.onLink != nil:
		line = slices.Clone(c.onLink)
	case len(c.launch) > 0:
		line = slices.Concat(c.launch, choose(s.bind == "none", c.unbound, c.bound), c.ranks)
	}
	if c.placeRanks && e.network != loopback {
		line = append(line, "sh", "-c", placeScript, "place", s.places)
	}
	if e.cores != nil {
		line = append(line, "sh", "-c", coreScript, "cores", s.places, strconv.Itoa(e.cores[0]), strconv.Itoa(e.cores[1]))
	}
	line = append(line, c.program...)
	if !c.hasOneTest {
		line = append(line, e.test)
	}
	line = append(line, c.args...)
	line = append(line, e.arguments(s.quick)...)
	fill := strings.NewReplacer("{bin}", s.bin, "{peers}", s.peers, "{ranks}", strconv.Itoa(e.ranksOf()), "{netns}", s.netns,
		"{pace}", strconv.Itoa(s.pace), "{test}", e.test, "{suites}", s.suites)
	for i := range line {
		line[i] = fill.Replace(line[i])
	}
	return line
}

// environment is what a run adds to ours.
func environment(c *contender, e *experiment) []string { return slices.Concat(c.env, e.env) }

func choose[T any](cond bool, yes, no T) T {
	if cond {
		return yes
	}
	return no
}
