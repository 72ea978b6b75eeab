//go:build linux

package launch

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said []string
		say := func(text string) { said = append(said, text) }
		var n atomic.Int64
		hosts := func() string { return fmt.Sprintf("%d of 8 hosts reached", n.Load()) }
		p := newProgress(Config{Verbose: true})
		p.begin(say, hosts)
		time.Sleep(progressAfter / 2)
		p.begin(say, hosts) // the launch before took no time worth a word
		time.Sleep(progressAfter + 1)
		n.Store(5)
		time.Sleep(progressAfter)
		p.begin(say, func() string { return "" })
		time.Sleep(time.Minute)
		p.stop()
		p.stop()
		if want := []string{"0 of 8 hosts reached", "5 of 8 hosts reached"}; !slices.Equal(said, want) {
			t.Errorf("%q, want %q", said, want)
		}
		quiet := newProgress(Config{})
		quiet.begin(say, hosts)
		time.Sleep(time.Minute)
		quiet.stop()
		if len(said) != 2 {
			t.Errorf("it said %q, and nobody looks", said[2:])
		}
	})
}
