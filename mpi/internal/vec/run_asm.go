//go:build amd64 || arm64

package vec

// run combines n bytes by a kernel of the table. Preconditions: n > 0 is a multiple of Step, and
// the table has the kernel.
//
//go:noescape
func run(kernel int, acc, in *byte, n int)

// has reports whether the table has a kernel.
func has(kernel int) bool

func findUsable() (u [ops*kinds + 1]bool) {
	for k := range ops * kinds {
		u[k+1] = supported(k%kinds) && has(k)
	}
	return u
}
