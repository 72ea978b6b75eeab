//go:build linux && !fitmpi_portable

package netlab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
)

// ownName is the name of something that a lab has made, with the process whose test that was, and
// the third byte of its addresses.
var ownName = regexp.MustCompile(`\bf[nb](\d+)-(\d+)[0-9-]*`)

// sweep removes the namespaces and bridges of tests that were killed: they live until they are
// deleted. Links go with the namespaces.
func sweep() {
	for _, kind := range []struct{ list, del []string }{
		{[]string{"netns", "list"}, []string{"netns", "del"}},
		{[]string{"-o", "link", "show", "type", "bridge"}, []string{"link", "del"}},
	} {
		out, err := exec.Command("ip", kind.list...).Output()
		if err != nil {
			continue // then making some will say why
		}
		for _, m := range ownName.FindAllStringSubmatch(string(out), -1) {
			if _, err := os.Stat("/proc/" + m[1]); errors.Is(err, fs.ErrNotExist) {
				ifFree(m[2], func() { exec.Command("ip", append(kind.del, m[0])...).Run() }) // another test may sweep too
			}
		}
	}
}

// ifFree calls f unless a test that runs has addresses with that third byte, whose process may be
// in a container of its own, and so not be seen.
func ifFree(third string, f func()) {
	for _, second := range ranges {
		lock, err := lockRange(fmt.Sprintf("198.%d.%s", second, third))
		if err != nil {
			return
		}
		defer lock.Close()
	}
	f()
}
