//go:build linux

package executable

import (
	"os"
	"os/signal"
	"syscall"
)

// HearSignals gives programs that this process starts the default action for signals that it was
// itself started to ignore, as shells do with SIGINT for what runs in the background, and nohup
// with SIGHUP: a test that interrupts a program would wait for its end in vain. This process goes
// on ignoring them. A TestMain calls it before it runs the tests.
func HearSignals() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGTSTP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s) // no program inherits a handler
		}
	}
}
