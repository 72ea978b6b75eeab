// Command example is the pattern of a simulation that learns on several ranks: each makes some of
// the trials of an epoch, the changes of weights are added up over all ranks, and every rank makes
// the same step. At the end the errors of all trials are put together.
//
//	fitrun -n 4 ./example
package main

import (
	"log"
	"math/rand"
	"os"

	"github.com/fitmpi/fitmpi/extras/cogent/mpi"
)

const (
	inputs = 8
	trials = 24 // of an epoch; a multiple of the ranks
	epochs = 400
	rate   = 0.02
)

// sim is a layer of one unit that learns a linear rule. All of it is the main goroutine's.
type sim struct {
	comm    *mpi.Comm
	inputs  [][]float32 // of each trial, the same at every rank
	targets []float32

	weights, changes, sum []float32
	errors                []float32 // of this rank's trials, squared
}

func main() {
	mpi.Init()
	err := run()
	mpi.Finalize()
	if err != nil {
		log.Println(err)
		os.Exit(1)
	}
}

func run() error {
	comm, err := mpi.NewComm(nil)
	if err != nil {
		return err
	}
	s := newSim(comm)
	for range epochs {
		if err := s.epoch(); err != nil {
			return err
		}
	}
	all := make([]float32, len(s.errors)*comm.Size())
	if err := comm.AllGatherF32(all, s.errors); err != nil {
		return err
	}
	worst := float32(0)
	for _, e := range all {
		worst = max(worst, e)
	}
	mpi.Printf("%d trials in %d epochs: the largest error is below 1e-4: %v\n", len(all), epochs, worst < 1e-4)
	return nil
}

// newSim makes the trials, by the same random numbers at every rank.
func newSim(comm *mpi.Comm) *sim {
	s := &sim{comm: comm, weights: make([]float32, inputs), changes: make([]float32, inputs), sum: make([]float32, inputs)}
	rnd, rule := rand.New(rand.NewSource(1)), make([]float32, inputs)
	for i := range rule {
		rule[i] = float32(rnd.NormFloat64())
	}
	for range trials {
		in, target := make([]float32, inputs), float32(0)
		for i := range in {
			in[i] = float32(rnd.NormFloat64())
			target += rule[i] * in[i]
		}
		s.inputs, s.targets = append(s.inputs, in), append(s.targets, target)
	}
	return s
}

// epoch makes this rank's trials, and one step of all ranks.
func (s *sim) epoch() error {
	clear(s.changes)
	s.errors = s.errors[:0]
	each := trials / s.comm.Size()
	for t := s.comm.Rank() * each; t < (s.comm.Rank()+1)*each; t++ {
		diff := s.targets[t]
		for i, x := range s.inputs[t] {
			diff -= s.weights[i] * x
		}
		for i, x := range s.inputs[t] {
			s.changes[i] += rate * diff * x
		}
		s.errors = append(s.errors, diff*diff)
	}
	if err := s.comm.AllReduceF32(mpi.OpSum, s.sum, s.changes); err != nil {
		return err
	}
	for i := range s.weights {
		s.weights[i] += s.sum[i]
	}
	return nil
}
