package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/fitmpi/fitmpi/mpi"
)

const momentum = 0.9

// trainer is the state of a rank. All of it is the goroutine's that calls run.
type trainer struct {
	o        options
	c        *mpi.Comm
	data     images
	net      *network
	velocity []float64 // of each parameter
	step     int       // the next one
	total    int
	past     past
	store    *mpi.FileCheckpoint // nil: none
	mortal   func(step int)      // may kill this rank

	loss             float64 // of all images of the last step
	computed, waited time.Duration
}

func newTrainer(c *mpi.Comm, o options, data images) *trainer {
	sizes := append(append([]int{pixels}, o.hidden...), digits)
	t := &trainer{o: o, c: c, data: data, net: newNetwork(sizes), mortal: func(int) {}}
	t.velocity = make([]float64, len(t.net.params))
	t.total = o.epochs * (trained / o.batch)
	return t
}

// steps makes the steps that remain, or those before more ranks come.
func (t *trainer) steps(ctx context.Context) error {
	for t.step < t.total && !t.isToGrow() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if t.store != nil && t.step > t.past.Resume && t.step%t.o.every == 0 {
			if err := t.store.Save(t.c, int64(t.step), t.write); err != nil {
				return err
			}
		}
		t.mortal(t.step)
		if err := t.once(); err != nil {
			return err
		}
		t.step++
	}
	return nil
}

// batch is this rank's images of a step. Every rank draws the same order.
func (t *trainer) batch() images {
	perEpoch := trained / t.o.batch
	order := rand.New(rand.NewPCG(3, uint64(t.step/perEpoch))).Perm(trained)
	first := t.step % perEpoch * t.o.batch
	rank, size := t.c.Rank(), t.c.Size()
	return t.data.some(order[first+t.o.batch*rank/size : first+t.o.batch*(rank+1)/size])
}

// once makes a step. A bucket of gradients is added up over all ranks as soon as it is complete,
// and travels while the layers before it are worked on.
func (t *trainer) once() error {
	began, begin := time.Now(), 0
	var sums []*mpi.Request
	t.loss = t.net.gradients(t.batch(), func(end int) {
		if isLast := end == len(t.net.grad); isLast || !t.o.blocking && end-begin >= t.o.bucket {
			bucket := t.net.grad[begin:end]
			sums = append(sums, mpi.Iallreduce(t.c, bucket, bucket, mpi.Sum))
			begin = end
		}
	})
	t.computed += time.Since(began)
	began = time.Now()
	if _, err := mpi.WaitAll(sums...); err != nil {
		return err
	}
	t.waited += time.Since(began)
	began = time.Now()
	for i, g := range t.net.grad {
		t.velocity[i] = momentum*t.velocity[i] - t.o.rate*g/float64(t.o.batch)
		t.net.params[i] += t.velocity[i]
	}
	t.computed += time.Since(began)
	return nil
}

// write writes what the rest of the training depends on. All ranks have the same, so rank 0's is
// enough.
func (t *trainer) write(w io.Writer) error {
	if t.c.Rank() != 0 {
		return nil
	}
	return errors.Join(binary.Write(w, binary.LittleEndian, t.net.params), binary.Write(w, binary.LittleEndian, t.velocity))
}

// restore takes the state from a checkpoint, if there is one.
func (t *trainer) restore() error {
	version, found, err := t.store.Load(t.c, func(_ int64, r io.Reader) error {
		if t.c.Rank() != 0 {
			return nil
		}
		return errors.Join(binary.Read(r, binary.LittleEndian, t.net.params), binary.Read(r, binary.LittleEndian, t.velocity))
	})
	if err != nil || !found {
		return err
	}
	t.step, t.past.Resume = int(version), int(version)
	return errors.Join(mpi.Bcast(t.c, t.net.params, 0), mpi.Bcast(t.c, t.velocity, 0))
}
