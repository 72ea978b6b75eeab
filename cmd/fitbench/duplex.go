//go:build linux

package main

// duplex measures, by turns, a round trip, and two exchanges in which both ranks send at once. Both
// are two messages each way, of which a network that is as fast in both directions at once as in
// one takes the same time: two exchanges are timed together so that they compare with the round
// trip (ping-ping in the McMPI thesis).
func duplex(e *env) error {
	for _, size := range e.sizes() {
		out, in := buffer(size), buffer(size)
		n, warmup := e.iterations(size), e.warmup(size)
		if err := e.sync(); err != nil {
			return err
		}
		trips, exchanges, ratios := make([]float64, 0, n), make([]float64, 0, n), make([]float64, 0, n)
		for i := range warmup + n {
			trip, twice, err := e.tripAndExchanges(out, in)
			switch {
			case err != nil:
				return err
			case i >= warmup:
				trips, exchanges, ratios = append(trips, trip), append(exchanges, twice), append(ratios, twice/trip)
			}
		}
		e.report("pingpong", size, "time", "us", trips)
		e.report("pingping", size, "time", "us", exchanges)
		e.report("", size, "ratio", "1", ratios)
	}
	return nil
}

// tripAndExchanges is a round trip, and after it two exchanges: what they take, in microseconds.
func (e *env) tripAndExchanges(out, in []byte) (trip, twice float64, err error) {
	start := now()
	if err := e.bounce(out, in); err != nil {
		return 0, 0, err
	}
	middle := now()
	for range 2 {
		if err := e.cross(out, in); err != nil {
			return 0, 0, err
		}
	}
	return float64(middle-start) / 1e3, micros(middle), nil
}
