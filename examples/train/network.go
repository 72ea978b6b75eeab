package main

import (
	"math"
	"math/rand/v2"
)

// layer is units that each see all of the layer before. All of it is the rank's own.
type layer struct {
	in, out int
	weights []float64 // of input i and unit j at i*out+j, then the bias of each unit
	grad    []float64 // of the loss by each of them
	seen    []float64 // inputs of the last forward pass
}

// network is layers. The parameters of all lie in one slice, those of the last layer first: in the
// order in which the backward pass finishes their gradients.
type network struct {
	layers       []*layer
	params, grad []float64
}

// newNetwork draws the same parameters at every rank.
func newNetwork(sizes []int) *network {
	n, total := &network{}, 0
	for i := 1; i < len(sizes); i++ {
		total += (sizes[i-1] + 1) * sizes[i]
	}
	n.params, n.grad = make([]float64, total), make([]float64, total)
	rnd, end := rand.New(rand.NewPCG(1, 2)), total
	for i := 1; i < len(sizes); i++ {
		l := &layer{in: sizes[i-1], out: sizes[i]}
		begin := end - (l.in+1)*l.out
		l.weights, l.grad = n.params[begin:end], n.grad[begin:end]
		for j := range l.in * l.out {
			l.weights[j] = rnd.NormFloat64() * math.Sqrt(2/float64(l.in))
		}
		n.layers, end = append(n.layers, l), begin
	}
	return n
}

// forward returns what a layer makes of several images.
func (l *layer) forward(x []float64, isLast bool) []float64 {
	l.seen = x
	n := len(x) / l.in
	y := make([]float64, n*l.out)
	for s := range n {
		row := y[s*l.out : (s+1)*l.out]
		copy(row, l.weights[l.in*l.out:])
		for i, v := range x[s*l.in : (s+1)*l.in] {
			if v == 0 {
				continue
			}
			w := l.weights[i*l.out : (i+1)*l.out]
			for j := range row {
				row[j] += v * w[j]
			}
		}
		for j := range row {
			if !isLast && row[j] < 0 {
				row[j] = 0
			}
		}
	}
	return y
}

// backward adds to the gradient, given that of the layer's results, and returns that of its inputs.
func (l *layer) backward(dy []float64) []float64 {
	n := len(dy) / l.out
	dx := make([]float64, n*l.in)
	bias := l.grad[l.in*l.out:]
	for s := range n {
		d := dy[s*l.out : (s+1)*l.out]
		for j := range d {
			bias[j] += d[j]
		}
		for i, v := range l.seen[s*l.in : (s+1)*l.in] {
			if v <= 0 { // cut off by the layer before, or a white pixel: nothing comes from here
				continue
			}
			w, g, sum := l.weights[i*l.out:(i+1)*l.out], l.grad[i*l.out:(i+1)*l.out], 0.0
			for j := range d {
				g[j] += v * d[j]
				sum += w[j] * d[j]
			}
			dx[s*l.in+i] = sum
		}
	}
	return dx
}

// scores is what the network says of images: ten numbers for each.
func (n *network) scores(im images) []float64 {
	x := im.pixels
	for i, l := range n.layers {
		x = l.forward(x, i == len(n.layers)-1)
	}
	return x
}

// gradients sets the gradient of the loss of some images. After each layer it calls done with how
// much of n.grad is finished, from the beginning.
func (n *network) gradients(im images, done func(end int)) (loss float64) {
	clear(n.grad)
	d := n.scores(im)
	for s, label := range im.labels {
		loss += softmax(d[s*digits:(s+1)*digits], label)
	}
	end := 0
	for i := len(n.layers) - 1; i >= 0; i-- {
		d = n.layers[i].backward(d)
		end += len(n.layers[i].grad)
		done(end)
	}
	return loss
}

// softmax turns scores into the gradient of the loss by them, and returns the loss.
func softmax(d []float64, label int) float64 {
	top, sum := math.Inf(-1), 0.0
	for _, x := range d {
		top = math.Max(top, x)
	}
	for j := range d {
		d[j] = math.Exp(d[j] - top)
		sum += d[j]
	}
	for j := range d {
		d[j] /= sum
	}
	loss := -math.Log(math.Max(d[label], math.SmallestNonzeroFloat64))
	d[label]--
	return loss
}

// right counts the images that the network reads as what they are.
func (n *network) right(im images) (count int) {
	d := n.scores(im)
	for s, label := range im.labels {
		best := 0
		for j := range digits {
			if d[s*digits+j] > d[s*digits+best] {
				best = j
			}
		}
		if best == label {
			count++
		}
	}
	return count
}
