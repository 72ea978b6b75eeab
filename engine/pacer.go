package engine

import (
	"sync"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// pacer shows the peers that share memory with this rank that its process lives, from the first
// promise of that until the rank leaves.
//
// It is a goroutine of its own, as none of the rank's others can do it. The worker may be in a step
// of the program's for as long as that likes, a caller that holds the progress right may be stuck,
// and under caller there is no worker. It needs neither the right nor the mutex. What it shows is
// that the kernel and the runtime let this process run, which is all that a peer may ask before it
// waits on. Whether the rank gets anywhere is a question for deadlock detectors. They take any
// timer that is set for something that may yet start the program's code. So the pacer waits without
// a timer.
type pacer struct {
	pause *sys.Pauser // nil while it does not run
	done  sync.WaitGroup
}

// begin calls show, which is quick, every so often. It fails if the process has no descriptor left.
//
// Preconditions:
//   - it does not run; begin and end are not called at the same time.
func (p *pacer) begin(every time.Duration, show func()) error {
	pause, err := sys.NewPauser()
	if err != nil {
		return err
	}
	p.pause = pause
	p.done.Go(func() { // stopped by end
		for !pause.Pause(every) {
			show()
		}
	})
	return nil
}

// end returns when show is called no more. It may be called when nothing has begun.
func (p *pacer) end() error {
	if p.pause == nil {
		return nil
	}
	pause := p.pause
	p.pause = nil
	pause.End()
	p.done.Wait()
	return pause.Close()
}
