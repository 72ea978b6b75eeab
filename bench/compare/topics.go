//go:build linux

package main

import (
	"fmt"
	"slices"
	"strings"
)

// topic is a page below docs/benchmarks, which has all tables of a subject.
type topic struct {
	name  string // of its file, and of its sections' field page
	title string
	short string // on the first page, what is there
	prose string // ahead of its sections
}

// Names of topics that code refers to.
const (
	solvePage    = "solve"
	appsPage     = "apps"
	papersPage   = "papers"
	machinesPage = "machines"
)

func topics() []topic {
	return []topic{
		{solvePage, "Time to solution", "what an iteration takes that computes and exchanges",
			"`Irecv`, `Isend`, a fixed piece of work, `WaitAll`, again and again, without anything between: what an iteration takes, all in all " +
				"([how](../../bench/METHOD.md#time-to-solution)). The work takes about as long as moving the message, once, three or nine times. " +
				"`caller` is FitMPI without a progress thread; `raw` is a helper thread over a plain socket."},
		{"pairs", "Latency, rate, bandwidth, matching", "two ranks that send to each other", "Two ranks that do nothing but send to each other."},
		{"networks", "Links, sockets and cores", "limited links, raw sockets of C and Go, socket buffers, cores",
			"Two ranks over links of 1 Gbit/s and 100 Mbit/s, and beside sockets without a library."},
		{"overlap", "Overlap", "what is hidden behind computation, and what that costs",
			"What moving messages while a program computes saves, as time. A percentage stands beside the time that it is of. " +
				"It counts a computation that was slowed down as lost, which the percentage that OSU defines does not " +
				"([why](../../bench/METHOD.md#time-to-solution))."},
		{"collectives", "Collectives", "barrier, bcast, allreduce, alltoall; Allreduce by type", "Blocking collectives, the slowest rank's time; nonblocking ones beside computation are with [overlap](overlap.md). Four ranks take turns on two cores; MPICH polls without giving way, so that a turn takes milliseconds."},
		{"jobs", "Launching, memory, many ranks", "starting a job, its memory and descriptors, more ranks than cores", "Jobs as a whole."},
		{appsPage, "Applications", "five programs and the matrix product beside the same in C",
			"Programs of [examples](../../examples) and the same programs in C ([bench/peers/apps](../../bench/peers/apps)) with Open MPI and MPICH: the same " +
				"steps, the same division among the ranks, and answers that are compared; a run whose answer differs from the others' has no figures here " +
				"([how](../../bench/METHOD.md#applications)). Times are of the slowest rank, medians of several times within one job. " +
				"`st` is FitMPI with policy `caller`: nothing moves messages but the program's own calls. `mt` is `assist`, the default, and `mt worker` is `worker`. " +
				"C compilers use vector instructions where Go's does not, so columns begin at different times on one rank; what compares the libraries is " +
				"how they fall with more ranks, and how long ranks wait."},
		{papersPage, "What the papers measured", "tables and figures of FiTMPI, McMPI, MP_Lite, MPI.NET and PMPI",
			"What the papers that FitMPI goes back to measured, measured again. Where they overlap with a subject of another page, they are there."},
		{machinesPage, "Machines and method", "what was measured where, and how; what failed", ""},
	}
}

// pageOf is the topic's page that a section stands on.
func (s section) pageOf() string { return choose(s.page == "", papersPage, s.page) }

// document is the page of a topic.
func (p *page) document(t topic) string {
	var b strings.Builder
	p.writeTop(&b, t.title)
	fmt.Fprintf(&b, "[Benchmarks](../BENCHMARKS.md) > %s\n", t.title)
	if t.prose != "" {
		fmt.Fprintf(&b, "\n%s\n", t.prose)
	}
	switch {
	case t.name == machinesPage:
		p.writeMachines(&b)
	case t.name == solvePage && len(p.heatMaps()) > 0:
		fmt.Fprintf(&b, "\n%s\n\n![%s](../bench/%s)\n\n%s\n", solveProse, solveCaption, solvePicture, legend)
	default:
		fmt.Fprintf(&b, "\n%s\n", legend)
	}
	for _, s := range sections() {
		if s.pageOf() == t.name {
			p.writeSection(&b, s)
		}
	}
	if t.name == machinesPage {
		p.writeFailures(&b)
	}
	return b.String()
}

// legend says how a table is read.
const legend = "A **gain** is how many times better FitMPI is than the best of Open MPI and MPICH in its row: 2 is half the time, or twice the rate. " +
	"🟢 it is faster, 🔴 slower, ⚪ no difference that the repeats can tell. Figures are medians over the repeats, with their range in parentheses; " +
	"without one they were measured once. `≈` marks figures whose repeats differ by more than 20 % of their median."

// writeTop writes what every page begins with.
func (p *page) writeTop(b *strings.Builder, title string) {
	rec := p.machines[0].record
	fmt.Fprintf(b, "<!-- Written by bench/compare. Edit that, not this. -->\n\n# %s\n\n", title)
	if rec.Note != "" {
		fmt.Fprintf(b, "**%s**\n\n", rec.Note)
	}
	if rec.Partial {
		b.WriteString("**These figures are of a part of the experiments, or of too few repetitions: they show that everything runs, no more.**\n\n")
	}
}

// checkPages is an error if a section stands on a page that is none.
func checkPages() error {
	for _, s := range sections() {
		if !slices.ContainsFunc(topics(), func(t topic) bool { return t.name == s.pageOf() }) {
			return fmt.Errorf("bug: section %q is on page %q, which topics does not have", s.title, s.page)
		}
	}
	return nil
}
