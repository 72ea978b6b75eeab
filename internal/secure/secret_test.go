//go:build linux && !fitmpi_portable

package secure

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadSecret(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		want          string // the secret, or else the error
	}{
		{"plain", string(secret), ""},
		{"newline", string(secret) + "\n", ""},
		{"newlines of another system", string(secret) + "\r\n\r\n", ""},
		{"short", strings.Repeat("x", 31) + "\n", "it has 31 bytes: need 32 random bytes or more"},
		{"empty", "", "it has 0 bytes: need 32 random bytes or more"},
		{"long", strings.Repeat("x", maxSecret+1), "it has more than 4096 bytes: that is no secret"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "secret")
			if err := os.WriteFile(name, []byte(tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := ReadSecret(name)
			switch {
			case tc.want == "" && (err != nil || !bytes.Equal(got, secret)):
				t.Errorf("%q, %v; want %q", got, err, secret)
			case tc.want != "" && (err == nil || err.Error() != "secret file "+name+": "+tc.want):
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}

// The files of a Kubernetes secret are links to links.
func TestReadSecretThroughLinks(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "..2026")
	link := filepath.Join(dir, "secret")
	for _, err := range []error{
		os.Mkdir(data, 0o700), os.WriteFile(filepath.Join(data, "secret"), secret, 0o440),
		os.Symlink("..2026", filepath.Join(dir, "..data")), os.Symlink("..data/secret", link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := ReadSecret(link); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReadSecretOfOtherKinds(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		fifo:                       "it is not a regular file",
		dir:                        "it is not a regular file",
		filepath.Join(dir, "none"): "no such file or directory",
		open:                       "its mode 0644 lets every user read it: chmod 600 it, or 640 to share it with a group",
	} {
		if _, err := ReadSecret(name); err == nil || err.Error() != "secret file "+name+": "+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestRights(t *testing.T) {
	const root, me, she = 0, 1000, 1001
	for _, tc := range []struct {
		mode      fs.FileMode
		owner     int
		isPrivate bool
		want      string // the error; "" if it passes
	}{
		{0o600, me, false, ""},
		{0o400, me, false, ""},
		{0o640, me, false, ""},
		{0o440, root, false, ""},
		{0o644, root, true, ""}, // a secret in a pod, as the manifest leaves it
		{0o777, root, true, ""}, // a link's mode means nothing on a read-only mount
		{0o644, me, false, "its mode 0644 lets every user read it: chmod 600 it, or 640 to share it with a group"},
		{0o604, me, false, "its mode 0604 lets every user read it: chmod 600 it, or 640 to share it with a group"},
		{0o620, me, false, "its mode 0620 lets others write it: chmod 600 it"},
		{0o602, me, false, "its mode 0602 lets others write it: chmod 600 it"},
		{0o600, she, false, "it belongs to user 1001: must belong to user 1000, who runs this process, or to root"},
		{0o600, she, true, "it belongs to user 1001: must belong to user 1000, who runs this process, or to root"},
	} {
		err := checkRights(tc.mode, tc.owner, me, tc.isPrivate)
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || err.Error() != tc.want) {
			t.Errorf("mode %#o of user %d, private: %t: %v, want %q", tc.mode, tc.owner, tc.isPrivate, err, tc.want)
		}
	}
}
