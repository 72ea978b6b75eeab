//go:build linux

package main

import (
	"cmp"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// run is one start of one program.
type run struct {
	experiment *experiment
	contender  *contender
	repeat     int // from 1
}

// chosen are the experiments that the options ask for: without -only all.
func chosen(opt *options) []*experiment {
	var list []*experiment
	for _, e := range experiments() {
		if opt.only == nil || opt.only.MatchString(e.name) {
			list = append(list, e)
		}
	}
	return list
}

// schedule is the order of all runs: for each repeat, for each experiment, each contender in turn.
// Odd repeats go through the contenders forwards and even ones backwards, so that no contender
// always runs after the same neighbour.
func schedule(list []*experiment, all map[string]*contender, repeats int) []run {
	var runs []run
	for repeat := 1; repeat <= repeats; repeat++ {
		for _, e := range list {
			if repeat > e.times(repeats) {
				continue
			}
			for i := range e.contenders {
				if repeat%2 == 0 {
					i = len(e.contenders) - 1 - i
				}
				runs = append(runs, run{e, all[e.contenders[i]], repeat})
			}
		}
	}
	return runs
}

// hangLimit is how long a run may take that is short, or whose contender is known to hang, unless
// the experiment says how long.
const hangLimit = 20 * time.Second

// limit is how long r may take.
func (r run) limit(quick bool) time.Duration {
	e := r.experiment
	if quick || r.contender.mayHang && e.timeout == 0 && e.seconds < hangLimit.Seconds()/2 {
		return hangLimit
	}
	return cmp.Or(e.timeout, time.Minute)
}

// quickShare is about which part of its time an experiment takes with -quick.
const quickShare = 0.3

// expected is how long a run should take. Starting a job is part of it.
func (r run) expected(quick bool) time.Duration {
	s := r.experiment.seconds
	if quick {
		s *= quickShare
	}
	return time.Duration(s*float64(time.Second)) + 300*time.Millisecond
}

func totalTime(runs []run, quick bool) (sum time.Duration) {
	for _, r := range runs {
		sum += r.expected(quick)
	}
	return sum
}

// writeList says what would run.
func writeList(w io.Writer, opt *options) error {
	list, all := withoutSuites(chosen(opt), opt, io.Discard), byName(contenders())
	runs := schedule(list, all, opt.repeats)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "experiment\ttest\tranks\tnetwork\trepeats\tabout\tcontenders")
	for _, e := range list {
		each := run{experiment: e}.expected(opt.quick)
		n := e.times(opt.repeats)
		fmt.Fprintf(t, "%s\t%s\t%d\t%v\t%d\t%.0f s\t", e.name, e.test, e.ranksOf(), e.network, n,
			(each * time.Duration(n*len(e.contenders))).Seconds())
		for i, name := range e.contenders {
			fmt.Fprint(t, choose(i == 0, "", " "), name)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d experiments, %d runs, about %.0f minutes on two cores\n", len(list), len(runs),
		totalTime(runs, opt.quick).Minutes())
	return err
}
