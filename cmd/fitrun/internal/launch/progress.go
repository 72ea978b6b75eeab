//go:build linux

package launch

import (
	"sync"
	"time"
)

// progress tells from time to time how a launch is doing, if a user may look.
type progress struct {
	shown bool          // immutable
	stopc chan struct{} // nil unless a phase is under way
	wg    sync.WaitGroup
}

func newProgress(cfg Config) *progress {
	return &progress{shown: cfg.Verbose || isTerminal(cfg.Stderr)}
}

// begin begins a phase: line says how far it is, "" that it is over, and say shows that.
func (p *progress) begin(say func(string), line func() string) {
	p.stop()
	if !p.shown {
		return
	}
	p.stopc = make(chan struct{})
	stopc := p.stopc
	p.wg.Go(func() { // stopped by stop
		tick := time.NewTicker(progressAfter)
		defer tick.Stop()
		for {
			select {
			case <-stopc:
				return
			case <-tick.C:
				text := line()
				if text == "" {
					return
				}
				say(text)
			}
		}
	})
}

// stop ends the phase: say is not called any more. p may be nil.
func (p *progress) stop() {
	if p == nil {
		return
	}
	if p.stopc != nil {
		close(p.stopc)
		p.stopc = nil
	}
	p.wg.Wait()
}
