//go:build amd64 || arm64

package vec

// has reports whether the table has a kernel.
func has(kernel int) bool

func findUsable() (u [ops*kinds + 1]bool) {
	for k := range ops * kinds {
		u[k+1] = supported(k%kinds) && has(k)
	}
	return u
}
