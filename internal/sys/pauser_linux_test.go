//go:build !fitmpi_portable

package sys

import (
	"sync"
	"testing"
	"time"
)

// A pause lasts as long as it is told to, and until End if that comes first; then there are no
// more.
func TestPauser(t *testing.T) {
	p, err := NewPauser()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	began := time.Now()
	if p.Pause(2*time.Millisecond) || time.Since(began) < 2*time.Millisecond {
		t.Errorf("a pause of 2 ms ended after %v, or as if by End", time.Since(began))
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if !p.Pause(time.Hour) {
			t.Error("a pause that is ended does not say so")
		}
	})
	p.End()
	wg.Wait()
	p.End()
	if !p.Pause(time.Hour) {
		t.Error("after End there is still a pause")
	}
}
