//go:build !linux || fitmpi_portable

package secure

import "fmt"

// ReadSecret fails: which users may read a file, and so whether it is a secret, is looked at on
// Linux only.
func ReadSecret(name string) ([]byte, error) {
	return nil, fmt.Errorf("secret file %s: FitMPI reads secrets on Linux only, where it can tell which users may read the file", name)
}
