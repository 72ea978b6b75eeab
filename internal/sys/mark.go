//go:build linux && !fitmpi_portable

package sys

import (
	"bufio"
	"crypto/rand"
	"encoding/hex"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	markPrefix = "fitmpi-mark-"
	maxMarks   = 1 << 10
)

// Mark is a name by which others see that this very process is on their machine. As long as the
// process lives, its mark is among the Marks of all processes of its network namespace. No other
// process sees it there, whatever else two machines have in common. It is "" if none can be set.
var Mark = sync.OnceValue(func() string {
	var b [16]byte
	rand.Read(b[:]) // never fails: it ends the program instead
	name := markPrefix + hex.EncodeToString(b[:])
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@" + name}); err != nil {
		unix.Close(fd)
		return ""
	}
	return name // the socket stays, and never listens
})

// Marks are the marks of the processes that live in this network namespace: of fitruns and their
// agents. They are at most 1024. No namespace has so many unless a user wants to be in the way.
func Marks() (marks []string) {
	f, err := os.Open("/proc/thread-self/net/unix")
	if err != nil {
		return nil
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan() && len(marks) < maxMarks; {
		_, name, ok := strings.Cut(lines.Text(), " @"+markPrefix)
		if ok && len(name) == 2*16 {
			marks = append(marks, markPrefix+name)
		}
	}
	return marks
}
