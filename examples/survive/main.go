// Command survive counts the primes below a number, and goes on when ranks die.
//
//	fitrun -n 4 --with-ft ./examples/survive                     then kill -9 one of its processes, and another
//	fitrun -n 4 --with-ft ./examples/survive -die 1@3,2@7        ranks 1 and 2 kill themselves, in rounds 3 and 7
//	fitrun -n 4 --with-ft ./examples/survive -die 1@3,2@7 -replace
//
// # What it shows
//
// The way back from a failure. The work is done in rounds. At the end of each round the ranks add
// up what they have found (Allreduce). If a rank dies, that fails at some of the others, and at
// some not. So the ranks Agree on whether all have the sum. If not, they Revoke the communicator,
// so that no rank waits in it for ever. They Shrink it to the ranks that live, and do the round
// again, among fewer. With -replace they Spawn as many new ranks as have died, and Merge them into
// the communicator, behind those that live.
//
// A rank must not need what only a dead one had. Here that is so by itself: a round is a function
// of its number. A program with state has it at two ranks, or in files, see examples/checkpoint.
//
// # How the result is checked
//
// The count is compared with that of a sieve, which the first rank that lives runs alone: rank 0,
// if it has not died.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/fitmpi/fitmpi/mpi"
)

func main() {
	mpi.Main(func(ctx context.Context, world *mpi.Comm) error {
		return run(ctx, world, os.Args[1:], os.Stdout)
	})
}

// run is the program of one rank. Only the first that lives writes to stdout.
func run(ctx context.Context, world *mpi.Comm, args []string, stdout io.Writer) error {
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
	c, round, total := world, 0, int64(0)
	if parent := world.Parent(); parent != nil {
		if c, err = parent.Merge(true); err == nil {
			round, total, err = tell(c, round, total)
		}
		if err != nil {
			return err
		}
	}
	for round < o.rounds {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		sum, err := count(c, o, round, func() { o.maybeDie(world, round) })
		done, broken := isDone(c, err)
		if done {
			total, round = total+sum, round+1
		}
		if !done || broken != nil {
			before := c.Size()
			if c, err = shrink(c, round, stdout); err != nil {
				return err
			}
			if o.replace {
				if c, err = replace(c, before-c.Size(), round, total, args); err != nil {
					return err
				}
			}
		}
	}
	return conclude(c, world.Size(), o, total, stdout)
}

// count counts the primes of a round, each rank of c some of them.
func count(c *mpi.Comm, o options, round int, inTheMiddle func()) (int64, error) {
	first, end := o.limit*int64(round)/int64(o.rounds), o.limit*int64(round+1)/int64(o.rounds)
	own := []int64{0}
	for n := first + int64(c.Rank()); n < end; n += int64(c.Size()) {
		if isPrime(n) {
			own[0]++
		}
	}
	inTheMiddle()
	sum := []int64{0}
	err := mpi.Allreduce(c, own, sum, mpi.Sum)
	return sum[0], err
}

// isDone reports whether all ranks of c that live have come through a round: the same to all of
// them. broken says that one has died.
func isDone(c *mpi.Comm, err error) (done bool, broken error) {
	flag := 1
	if err != nil {
		flag = 0
	}
	agreed, broken := c.Agree(flag)
	return agreed == 1, broken
}

// shrink is a communicator of the ranks that live.
func shrink(c *mpi.Comm, round int, stdout io.Writer) (*mpi.Comm, error) {
	if err := c.Revoke(); err != nil {
		return nil, err
	}
	smaller, err := c.Shrink()
	if err != nil {
		return nil, err
	}
	if smaller.Rank() == 0 {
		fmt.Fprintf(stdout, "%d of %d ranks have died; going on with round %d\n", c.Size()-smaller.Size(), c.Size(), round)
	}
	return smaller, nil
}

// replace is c with so many new ranks behind its own, which know where the others are.
func replace(c *mpi.Comm, dead, round int, total int64, args []string) (*mpi.Comm, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	fresh, err := c.Spawn(program, args, dead, 0, nil)
	if err != nil {
		return nil, err
	}
	all, err := fresh.Merge(false)
	if err == nil {
		_, _, err = tell(all, round, total)
	}
	return all, err
}

// tell tells all ranks of c what rank 0 knows: which round is next, and how many were found.
func tell(c *mpi.Comm, round int, total int64) (int, int64, error) {
	known := []int64{int64(round), total}
	err := mpi.Bcast(c, known, 0)
	return int(known[0]), known[1], err
}

// maybeDie is what kill -9 would do, if -die says so.
// Those that were spawned do not die.
func (o *options) maybeDie(world *mpi.Comm, round int) {
	for _, d := range o.deaths {
		if d.rank == world.Rank() && d.round == round && world.Parent() == nil {
			world.Die()
		}
	}
}

// conclude compares the result with a sieve's.
func conclude(c *mpi.Comm, before int, o options, total int64, stdout io.Writer) error {
	if c.Rank() != 0 {
		return nil
	}
	if want := sieve(o.limit); total != want {
		return fmt.Errorf("%d primes below %d, and %d by a sieve", total, o.limit, want)
	}
	fmt.Fprintf(stdout, "%d primes below %d, as a sieve finds too; %d of %d ranks are alive\n", total, o.limit, c.Size(), before)
	return nil
}

// isPrime tries all divisors: it is work.
func isPrime(n int64) bool {
	for d := int64(2); d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n > 1
}

// sieve is the sieve of Eratosthenes.
func sieve(limit int64) (primes int64) {
	composite := make([]bool, limit)
	for n := int64(2); n < limit; n++ {
		if composite[n] {
			continue
		}
		primes++
		for m := n * n; m < limit; m += n {
			composite[m] = true
		}
	}
	return primes
}
