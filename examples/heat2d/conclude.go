package main

import (
	"fmt"
	"io"
	"math"
	"time"
)

// conclude checks and reports the outcome, and writes the picture.
func conclude(w io.Writer, o options, sum summary, before, after plate) error {
	if o.steps > 0 {
		sum.speed(w, o, len(after.t))
	}
	if err := sum.checkHeat(w); err != nil {
		return err
	}
	if err := checkSerial(w, o, before, after); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	if err := writePNG(o.out, after); err != nil {
		return err
	}
	fmt.Fprintf(w, "wrote %s, %d x %d, black is cold and white is hot: open it with any image viewer, such as xdg-open %[1]s\n",
		o.out, after.width, after.height)
	return nil
}

func (sum summary) speed(w io.Writer, o options, cells int) {
	fmt.Fprintf(w, "%d steps in %v: %v per step, %.0f million cells per second\n",
		o.steps, round(sum.elapsed), round(sum.elapsed/time.Duration(o.steps)),
		float64(cells)*float64(o.steps)/sum.elapsed.Seconds()/1e6)
	if sum.ranks == 1 {
		return
	}
	perStep := time.Duration(o.steps * sum.ranks)
	fmt.Fprintf(w, "communication hidden: %.1f%% (per step messages were in flight for %v, of which ranks waited %v)\n",
		100*(1-float64(sum.wait)/float64(sum.flight)), round(sum.flight/perStep), round(sum.wait/perStep))
	if sum.ranks > sum.cores {
		fmt.Fprintf(w, "  (with more ranks than the %s that they have, a rank waits mostly for neighbours that wait for a core)\n",
			plural(sum.cores, "core"))
	}
}

// checkHeat compares the plate's heat with what it was: insulated edges let none out.
func (sum summary) checkHeat(w io.Writer) error {
	was, is := sum.before.Heat, sum.after.Heat
	diff := math.Abs(is-was) / max(math.Abs(was), 1)
	if !(diff < 1e-9) {
		return fmt.Errorf("heat2d: the heat of the plate went from %v to %v, though its edges are insulated", was, is)
	}
	fmt.Fprintf(w, "check: the plate kept its heat of %.6g (relative difference %.1g)\n", was, diff)
	return nil
}

func checkSerial(w io.Writer, o options, before, after plate) error {
	sum := after.checksum()
	if !o.check {
		fmt.Fprintf(w, "checksum %08x, the same for any number of ranks (-check compares with serial code)\n", sum)
		return nil
	}
	began := time.Now()
	want := serial(before, o.steps)
	for i, t := range want.t {
		if math.Float64bits(t) != math.Float64bits(after.t[i]) {
			return fmt.Errorf("heat2d: row %d, column %d is %v, serial code has %v",
				i/want.width, i%want.width, after.t[i], t)
		}
	}
	fmt.Fprintf(w, "checksum %08x, and every bit is that of serial code (which took %v)\n", sum, round(time.Since(began)))
	return nil
}

// round keeps three or four digits.
func round(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10_000 {
		unit *= 10
	}
	return d.Round(unit)
}
