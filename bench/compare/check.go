//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// What our programs in C measure is checked against benchmarks that are not ours. NetPIPE over MPI
// is a package of Debian's. OSU's micro-benchmarks and Intel's are no packages: -suites says where
// a user has built them, and without that their experiments are left out.

// checkMark is in the case of all rows of the check, so that they are no repeats of others.
const checkMark = "@check"

// withoutSuites leaves out the experiments whose programs are not where -suites says, and says so.
func withoutSuites(list []*experiment, opt *options, log io.Writer) []*experiment {
	var kept []*experiment
	for _, e := range list {
		if e.suite == "" || opt.suites != "" && isBuilt(opt.suites, e.suite) {
			kept = append(kept, e)
			continue
		}
		fmt.Fprintf(log, "compare: left out %s: it needs -suites DIR with %s in DIR/openmpi and in DIR/mpich, each built with that library's compiler\n",
			e.name, e.suite)
	}
	return kept
}

// isBuilt reports whether a program was built with both libraries.
func isBuilt(dir, program string) bool {
	for _, peer := range []string{"openmpi", "mpich"} {
		if _, err := os.Stat(filepath.Join(dir, peer, program)); err != nil {
			return false
		}
	}
	return true
}

// checkContenders are the foreign benchmarks, over TCP like the programs that they check.
func checkContenders() []*contender {
	var list []*contender
	for _, base := range []*contender{openmpi("openmpi", "Open MPI", "none"), mpich("mpich", "MPICH", "none")} {
		foreign := func(name, title string, parse func(c *contender, out string) ([]bench.Row, error), program ...string) {
			c := *base
			c.name, c.title = name+"-"+base.peer, title+", "+base.title
			c.policy, _, _ = strings.Cut(name, "-")
			c.program, c.args, c.hasOneTest, c.finishes = program, nil, true, false
			c.output = func(out string) ([]bench.Row, error) { return parse(&c, out) }
			list = append(list, &c)
		}
		dir := "{suites}/" + base.peer + "/"
		foreign("osu-latency", "OSU", sizeAndFigure("pingpong", "", "half-rtt", "us"), dir+"osu_latency")
		foreign("osu-bw", "OSU", sizeAndFigure("bw", "", "bandwidth", "MB/s"), dir+"osu_bw")
		foreign("osu-allreduce", "OSU", sizeAndFigure("coll", "allreduce", "time", "us"), dir+"osu_allreduce")
		foreign("imb-pingpong", "IMB", parseIMB("pingpong", "", "half-rtt", 2), dir+"IMB-MPI1", "PingPong")
		foreign("imb-allreduce", "IMB", parseIMB("coll", "allreduce", "time", 3), dir+"IMB-MPI1", "Allreduce", "-npmin", "2")
		foreign("netpipe", "NetPIPE", netpipeOverMPI, netpipePrograms[base.peer], "-o", "/dev/stdout")
	}
	return list
}

// netpipePrograms are NetPIPE over each library, as Debian calls it.
var netpipePrograms = map[string]string{"openmpi": "NPopenmpi", "mpich": "NPmpich2"}

// checkExperiments have the twins at some sizes, and the foreign programs at all that they have.
func checkExperiments() []*experiment {
	both := func(name string) []string { return []string{name + "-openmpi", name + "-mpich"} }
	list := []*experiment{
		{name: "check-pingpong", test: "pingpong", args: "-sizes 8,1K,64K,1M", quick: fewSizes, contenders: []string{"openmpi", "mpich"}, seconds: 1},
		{name: "check-netpipe", test: "pingpong", args: "-u 1048576", quick: "-u 1024", contenders: both("netpipe"), seconds: 12},
		{name: "check-osu-latency", test: "pingpong", contenders: both("osu-latency"), suite: "osu_latency", seconds: 5},
		{name: "check-imb-pingpong", test: "pingpong", contenders: both("imb-pingpong"), suite: "IMB-MPI1", seconds: 5},
		{name: "check-bw", test: "bw", args: "-sizes 8,1K,64K,1M", quick: "-sizes 1K,64K,1M -iterations 5 -warmup 1", contenders: []string{"openmpi", "mpich"}, seconds: 1},
		{name: "check-osu-bw", test: "bw", contenders: both("osu-bw"), suite: "osu_bw", seconds: 5},
		{name: "check-allreduce", test: "coll", args: "-case allreduce -sizes 8,1K,64K,1M", quick: "-case allreduce " + fewSizes, contenders: []string{"openmpi", "mpich"}, seconds: 1},
		{name: "check-osu-allreduce", test: "coll", contenders: both("osu-allreduce"), suite: "osu_allreduce", seconds: 5},
		{name: "check-imb-allreduce", test: "coll", contenders: both("imb-allreduce"), suite: "IMB-MPI1", seconds: 5},
	}
	for _, e := range list {
		e.mark, e.repeats = checkMark, 1
	}
	return list
}

// checkedSizes are those that the twins and OSU's programs share, and IMB's.
var checkedSizes = []int64{8, kb, 64 * kb, mb}

// sizeAndFigure reads two columns of numbers, a size and a figure; other lines begin with # or are
// what a launcher says.
func sizeAndFigure(test, kase, measure, unit string) func(c *contender, out string) ([]bench.Row, error) {
	return func(c *contender, out string) ([]bench.Row, error) {
		return c.tableRows(out, 2, 1, bench.Row{Test: test, Case: kase, Measure: measure, Unit: unit})
	}
}

// parseIMB reads a table of IMB's: bytes, repetitions, and times in us, of which the one in column
// at is taken: the only one of PingPong, the slowest rank's of collectives.
func parseIMB(test, kase, measure string, at int) func(c *contender, out string) ([]bench.Row, error) {
	least := max(at+1, 4)
	return func(c *contender, out string) ([]bench.Row, error) {
		return c.tableRows(out, least, at, bench.Row{Test: test, Case: kase, Measure: measure, Unit: "us"})
	}
}

// tableRows makes rows like another of the lines that have at least so many columns, all of them
// numbers: the first is the size, the one in column at the figure, which is a mean.
func (c *contender) tableRows(out string, least, at int, like bench.Row) ([]bench.Row, error) {
	var rows []bench.Row
	for line := range strings.Lines(out) {
		xs, ok := numbers(line)
		if !ok || len(xs) < least || xs[0] == 0 {
			continue
		}
		row := like
		row.Peer, row.Transport, row.Policy, row.Ranks = c.peer, c.transport, c.policy, 2
		row.Size, row.Summary = int64(xs[0]), single(xs[at])
		rows = append(rows, row)
	}
	return rows, nil
}

// numbers are the fields of a line, if all of them are numbers.
func numbers(line string) ([]float64, bool) {
	var xs []float64
	for f := range strings.FieldsSeq(line) {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, false
		}
		xs = append(xs, x)
	}
	return xs, len(xs) > 0
}

// netpipeOverMPI reads what NetPIPE writes, whatever carries its messages.
func netpipeOverMPI(c *contender, out string) ([]bench.Row, error) {
	var table strings.Builder
	for line := range strings.Lines(out) {
		if xs, ok := numbers(line); ok && len(xs) >= 3 {
			table.WriteString(line)
		}
	}
	rows, err := parseNetpipe(table.String())
	for i := range rows {
		rows[i].Peer, rows[i].Transport, rows[i].Policy = c.peer, c.transport, c.policy
	}
	return rows, err
}
