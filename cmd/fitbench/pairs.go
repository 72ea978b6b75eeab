//go:build linux

package main

// pairTests are the tests of two ranks that exchange messages and do nothing else.
func pairTests() []test {
	return []test{
		{"pingpong", "half the round trip of one message", 2, latencySizes, pair(pingpong)},
		{"pingping", "one message each way at once", 2, latencySizes, pair(pingping)},
		{"bw", "bandwidth of a window of messages", 2, bandwidthSizes, pair(bw)},
		{"bibw", "bandwidth of a window of messages each way", 2, bandwidthSizes, pair(bibw)},
		{"rate", "messages a second", 2, []int{8}, pair(rate)},
		{"match", "finding a message in a long queue", 2, []int{45, 1000, 10000}, match},
		{"alloc", "heap allocations of an operation", 2, []int{8}, alloc},
	}
}

var bandwidthSizes = []int{8, 64, 1 << 10, 8 << 10, 64 << 10, 1 << 20, 4 << 20}

// pair makes a test of one that ranks 0 and 1 run, without cases. Other ranks watch.
func pair(run func(e *env) error) func(e *env) error {
	return func(e *env) error {
		if _, err := e.cases(); err != nil {
			return err
		}
		if e.rank > 1 {
			return nil
		}
		return run(e)
	}
}

// partner is the other rank of a pair: ranks 0 and 1 are one, 2 and 3, and so on.
func (e *env) partner() int { return e.rank ^ 1 }

// repeat calls op warmup + n times after a sync and returns how many nanoseconds each
// of the last n took.
func (e *env) repeat(n, warmup int, op func() error) ([]float64, error) {
	if err := e.sync(); err != nil {
		return nil, err
	}
	xs := make([]float64, 0, n)
	for i := range warmup + n {
		start := now()
		if err := op(); err != nil {
			return nil, err
		}
		if i >= warmup {
			xs = append(xs, float64(now()-start))
		}
	}
	return xs, nil
}

// each replaces every x of xs by f(x).
func each(xs []float64, f func(x float64) float64) []float64 {
	for i, x := range xs {
		xs[i] = f(x)
	}
	return xs
}
