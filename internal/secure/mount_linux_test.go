//go:build !fitmpi_portable

package secure

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestSecretOnReadOnlyTmpfs has a secret as Kubernetes mounts it: on a read-only tmpfs, in a file
// that all users can read.
func TestSecretOnReadOnlyTmpfs(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("secret", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("mounting a tmpfs: %v (needs root)", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	name := filepath.Join(dir, "secret")
	if err := os.WriteFile(name, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret(name); err == nil {
		t.Error("a file that everybody can read passed on a mount that can be written")
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadSecret(name); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%q, %v", got, err)
	}
}
