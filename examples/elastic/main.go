// Command elastic computes pi with a team of ranks that grows and shrinks while it computes.
//
//	fitrun ./examples/elastic                    1 rank, then 3, then 2
//	fitrun -n 2 ./examples/elastic -teams 2,4,3,6
//
// # What it shows
//
// Processes that are started while a job runs. To grow, the team spawns ranks of this program
// (Spawn) and merges them into itself (Merge). To shrink it makes a communicator without its last
// ranks (Create), and all part from the old one (Disconnect). Those that are left out have no
// communicator with the others any more, so they end while the others go on.
//
// What was spawned knows by Parent that it was, and hears from rank 0 which part of the work comes
// next: nothing of the program's state is anywhere else.
//
// # How the result is checked
//
// Each part of the work is the same sum over other blocks of one interval, by the midpoint rule.
// The parts together must be pi, as math.Pi has it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/fitmpi/fitmpi/mpi"
)

const usage = `elastic computes pi with a team of ranks that grows and shrinks while it computes (fitrun).

  -teams N,N,...   how many ranks share each part of the work (default 1,3,2)
  -steps N         of the midpoint rule, all parts together (default 3000000)
`

func main() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		return run(world, os.Args[1:], os.Stdout)
	})
}

// options is the command line.
type options struct {
	teams []int
	steps int
}

func parse(args []string) (options, error) {
	o := options{teams: []int{1, 3, 2}}
	fs := flag.NewFlagSet("elastic", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&o.steps, "steps", 3_000_000, "")
	fs.Func("teams", "", func(s string) error {
		o.teams = nil
		for word := range strings.SplitSeq(s, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return fmt.Errorf("a team of %q ranks", word)
			}
			o.teams = append(o.teams, n)
		}
		return nil
	})
	if err := fs.Parse(args); err != nil {
		return o, err
	}
	if o.steps < 1 || fs.NArg() > 0 {
		return o, errors.New("elastic: want at least 1 step, and no arguments; -h says more")
	}
	return o, nil
}

// state is what the team has got so far.
type state struct {
	Part int // the next
	Sum  float64
}

// run is the program of one rank, of those that began and of those that came later.
func run(world *mpi.Comm, args []string, stdout io.Writer) error {
	o, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		if world.Rank() == 0 {
			io.WriteString(stdout, usage)
		}
		return nil
	case err != nil:
		return err
	}
	team, err := world.Dup(nil)
	if parent := world.Parent(); parent != nil {
		team, err = join(parent)
	}
	if err != nil {
		return err
	}
	st := []state{{}}
	for {
		if err := mpi.Bcast(team, st, 0); err != nil { // to those that are new
			return err
		}
		if st[0].Part == len(o.teams) {
			return conclude(team, st[0], stdout)
		}
		switch n := o.teams[st[0].Part]; {
		case n > team.Size():
			team, err = grow(team, n, args)
		case n < team.Size():
			team, err = shrink(team, n)
		default:
			if err = part(team, o, &st[0], stdout); err == nil {
				st[0].Part++
			}
		}
		if err != nil || team == nil { // nil: this rank is left out, and has nothing more to do
			return err
		}
	}
}

// join is the first step of what was spawned: it goes to the end of the team.
func join(parent *mpi.Comm) (*mpi.Comm, error) {
	team, err := parent.Merge(true)
	return team, errors.Join(err, parent.Disconnect())
}

// grow is the team with as many new ranks as make it n.
func grow(team *mpi.Comm, n int, args []string) (*mpi.Comm, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	more, err := team.Spawn(program, args, n-team.Size(), 0, nil)
	if err != nil {
		return nil, err
	}
	bigger, err := more.Merge(false)
	return bigger, errors.Join(err, more.Disconnect(), team.Disconnect())
}

// shrink is the first n ranks of the team; nil for the others.
func shrink(team *mpi.Comm, n int) (*mpi.Comm, error) {
	stay := make([]int, n)
	for r := range stay {
		stay[r] = r
	}
	group, err := team.Group().Incl(stay...)
	if err != nil {
		return nil, err
	}
	smaller, err := team.Create(group)
	return smaller, errors.Join(err, team.Disconnect())
}

// part adds the next part of the sum: of every len(teams)-th step, each rank its share.
func part(team *mpi.Comm, o options, st *state, stdout io.Writer) error {
	sum, h := 0.0, 1/float64(o.steps)
	for i := st.Part + team.Rank()*len(o.teams); i < o.steps; i += team.Size() * len(o.teams) {
		x := (float64(i) + 0.5) * h
		sum += 4 / (1 + x*x) * h
	}
	all, err := mpi.AllreduceValue(team, sum, mpi.Sum)
	if err != nil {
		return err
	}
	st.Sum += all
	if team.Rank() == 0 {
		fmt.Fprintf(stdout, "part %d of %d by %d ranks\n", st.Part+1, len(o.teams), team.Size())
	}
	return nil
}

// conclude compares the sum with pi.
func conclude(team *mpi.Comm, st state, stdout io.Writer) error {
	if team.Rank() == 0 {
		if diff := math.Abs(st.Sum - math.Pi); diff > 1e-6 {
			return fmt.Errorf("pi is %.9f by this, which is %.2g off", st.Sum, diff)
		}
		fmt.Fprintf(stdout, "pi is %.6f\n", st.Sum)
	}
	return team.Disconnect()
}
