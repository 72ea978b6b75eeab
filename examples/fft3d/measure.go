package main

import (
	"io"

	"github.com/fitmpi/fitmpi/examples/internal/timing"
	"github.com/fitmpi/fitmpi/mpi"
)

// measure transforms the input forth and back some times, and prints a line for each: the value
// depends on all frequencies. It is collective over the ranks of c.
func (c *cube) measure(times int, input []complex128, stdout io.Writer) error {
	for range times {
		c.exchanging = 0
		clock, err := timing.Start(c.comm)
		if err != nil {
			return err
		}
		there, err := c.forward(input)
		if err != nil {
			return err
		}
		if _, err := c.backward(there); err != nil {
			return err
		}
		clock.Stop(c.exchanging)
		l := timing.Line{Program: "fft3d", Size: c.n, Way: timing.Blocking}
		if l.Value, err = c.weigh(there); err != nil {
			return err
		}
		if err := clock.Report(stdout, l); err != nil {
			return err
		}
	}
	return nil
}

// weigh is the sum of the parts of all frequencies, each times the weight of its place in the cube.
// s is a slab by y.
func (c *cube) weigh(s []complex128) (float64, error) {
	var sum [1]float64
	mine := c.end - c.first
	for i, v := range s {
		x, y, z := i/c.n/max(mine, 1), c.first+i/c.n%max(mine, 1), i%c.n
		place := (x*c.n+y)*c.n + z
		sum[0] += real(v)*timing.Weight(2*place) + imag(v)*timing.Weight(2*place+1)
	}
	err := mpi.Allreduce(c.comm, sum[:], sum[:], mpi.Sum)
	return sum[0], err
}
