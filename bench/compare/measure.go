//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// giveUpAfter is how often a contender may fail in an experiment before the rest of its
// repeats are left out: failing by timeout is slow. One that is known to hang may fail once.
const giveUpAfter = 2

// campaign measures: it works off a schedule and fills a record.
type campaign struct {
	runs    []run
	setting setting
	quick   bool
	record  *record
	links   *links
	log     io.Writer
	secrets *strings.Replacer // takes names and paths of this machine out of reasons

	began  time.Time
	done   time.Duration // expected time of the runs that are over
	failed map[string]int
}

// measure does all runs. It stops early, with what it has, when ctx ends.
func (c *campaign) measure(ctx context.Context) error {
	c.began, c.failed = time.Now(), map[string]int{}
	defer func() {
		c.record.Minutes = time.Since(c.began).Minutes()
		if err := c.links.close(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(c.log, "compare:", err)
		}
	}()
	for i, r := range c.runs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.show(i, r)
		if err := c.one(ctx, r); err != nil && ctx.Err() == nil {
			c.fail(r, err)
		}
		c.done += r.expected(c.quick)
	}
	return nil
}

// one does one run and keeps its rows.
func (c *campaign) one(ctx context.Context, r run) error {
	if c.failed[r.key()] >= choose(r.contender.mayHang, 1, giveUpAfter) {
		return nil
	}
	if err := c.links.use(ctx, r.experiment.network); err != nil {
		return err
	}
	if err := c.links.cross(ctx, r.contender.crossed); err != nil {
		return err
	}
	rows, note, err := r.perform(ctx, c.setting)
	if err != nil {
		return err
	}
	if note != "" {
		fmt.Fprintf(c.log, "compare: %s %s: %s\n", r.experiment.name, r.contender.name, c.secrets.Replace(note))
	}
	c.record.Rows = append(c.record.Rows, rows...)
	return nil
}

func (c *campaign) fail(r run, err error) {
	c.failed[r.key()]++
	reason := c.secrets.Replace(lastLine(err.Error()))
	c.record.Failures = append(c.record.Failures, failure{r.experiment.name, r.contender.name, r.repeat, reason})
	fmt.Fprintf(c.log, "compare: %s %s failed: %s\n", r.experiment.name, r.contender.name, reason)
}

func (r run) key() string { return r.experiment.name + " " + r.contender.name }

// show says what runs now and how long the rest will take, at the pace so far.
func (c *campaign) show(i int, r run) {
	left := totalTime(c.runs[i:], c.quick)
	if c.done > time.Minute { // before that the pace says little
		left = time.Duration(float64(left) * float64(time.Since(c.began)) / float64(c.done))
	}
	fmt.Fprintf(c.log, "[%d/%d] %s: %s, repeat %d; %v left\n", i+1, len(c.runs), r.experiment.name, r.contender.name,
		r.repeat, left.Round(time.Second))
}

// discreet takes out of texts what names this machine.
func discreet(root, bin string) *strings.Replacer {
	pairs := []string{bin + "/", "", root + "/", ""}
	if name, err := os.Hostname(); err == nil && name != "" {
		pairs = append(pairs, name, "this host")
	}
	return strings.NewReplacer(pairs...)
}

// errNothing is the answer to a regular expression that matches no experiment.
var errNothing = errors.New("no experiment matches -only: -list shows their names")
