// Package executable writes programs that tests run, and has them start as from a terminal.
package executable

import (
	"os"
	"syscall"
	"testing"
)

// Write makes the file path a program with the content text, which may be executed at once, also
// where other goroutines start processes. A process that is started has all files of this one until
// it executes its own program, and nothing can execute a file that is open for writing (ETXTBSY).
// So none is started while Write has it open.
func Write(t testing.TB, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	err := os.WriteFile(path, []byte(text), 0o755)
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
}
