//go:build linux && !fitmpi_portable

package shm

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// within says whether b lies in mem. An empty one lies anywhere.
func within(mem, b []byte) bool {
	at := addressOf(b) - addressOf(mem)
	return len(b) == 0 || at < uint64(len(mem)) && uint64(len(b)) <= uint64(len(mem))-at
}

// guarded is zeroed memory between two pages that must not be touched, one byte beyond its end
// included.
func guarded(t testing.TB, n int) []byte {
	t.Helper()
	page := os.Getpagesize()
	inner := (n + page - 1) / page * page
	all, err := unix.Mmap(-1, 0, inner+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, guard := range [][]byte{all[:page], all[page+inner:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return all[page+inner-n : page+inner : page+inner]
}
