//go:build linux && !fitmpi_portable

package secure

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// maxSecret is the greatest number of bytes of a secret in a file. It keeps a wrong file from being
// read whole.
const maxSecret = 4096

// ReadSecret reads the secret in the file with this name: MinSecret to 4096 bytes, of which
// newlines at the end do not count. Any bytes will do, such as the output of
//
//	head -c 32 /dev/urandom | base64 >secret; chmod 600 secret
//
// A secret that others can read is none. So the file must belong to this user or to root, must be
// writable by no other user, and must not be readable by all users. Its group may read it: that is
// how Kubernetes shows a secret to a process that is not root (fsGroup). There is one exception: on
// a read-only tmpfs, which is how Kubernetes mounts a secret into a container, the file may be
// readable by all users. It is so unless the manifest says otherwise, and no other container sees
// that mount.
func ReadSecret(name string) ([]byte, error) {
	secret, err := readSecret(name)
	if err != nil {
		return nil, fmt.Errorf("secret file %s: %w", name, err)
	}
	return secret, nil
}

func readSecret(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO must not hold us up
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	if err := checkFile(f); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return nil, cause(err)
	}
	b = bytes.TrimRight(b, "\r\n")
	switch {
	case len(b) < MinSecret:
		return nil, fmt.Errorf("it has %d bytes: need %d random bytes or more", len(b), MinSecret)
	case len(b) > maxSecret:
		return nil, fmt.Errorf("it has more than %d bytes: that is no secret", maxSecret)
	}
	return b, nil
}

// cause takes the name of the file, which the caller adds, off an error.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// checkFile looks at the open file, not at its name, which may mean another file by now.
func checkFile(f *os.File) error {
	st, err := f.Stat()
	if err != nil {
		return cause(err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	return checkRights(st.Mode().Perm(), int(sys.Uid), os.Geteuid(), isPrivateMount(f))
}

// checkRights refuses a file with these permissions that owner owns, for a process of user.
// isPrivate says that the mount itself keeps others out.
func checkRights(mode fs.FileMode, owner, user int, isPrivate bool) error {
	switch {
	case owner != user && owner != 0:
		return fmt.Errorf("it belongs to user %d: must belong to user %d, who runs this process, or to root", owner, user)
	case isPrivate:
		return nil
	case mode&0o022 != 0:
		return fmt.Errorf("its mode %#o lets others write it: chmod 600 it", mode)
	case mode&0o004 != 0:
		return fmt.Errorf("its mode %#o lets every user read it: chmod 600 it, or 640 to share it with a group", mode)
	}
	return nil
}
