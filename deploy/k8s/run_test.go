//go:build linux

package k8s

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
)

// inPod runs a command as a container would: $2 is the root, read-only, in which $3 alone can be
// written, and $1 the user.
const inPod = `
user=$1 root=$2 out=$3
shift 3
mount --bind "$root" "$root"
mount -t tmpfs -o mode=0770,gid="$user" tmpfs "$root$out"
mount -o remount,bind,ro "$root"
if touch "$root/written" 2>/dev/null; then echo the root can be written; exit 9; fi
chroot --userspec="$user:$user" "$root" "$@" && head -c 8 "$root$out"/heat.png`

// TestJobRuns: the command of the job does its work as the user of the job. That user can write to
// the volume only.
func TestJobRuns(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, for a mount namespace")
	}
	_, objects := read(t, "job.yaml")
	pod := objects[1].(*batch.Job).Spec.Template.Spec
	rank := pod.Containers[0]
	root := t.TempDir()
	out := rank.VolumeMounts[1].MountPath
	if err := os.Mkdir(filepath.Join(root, out), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(root, rank.Command[0]), "./examples/heat2d")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if b, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	args := append([]string{"--mount", "sh", "-e", "-c", inPod, "sh", strconv.Itoa(int(*pod.SecurityContext.RunAsUser)), root, out}, rank.Command...)
	run := exec.Command("unshare", append(args, "-size", "64", "-steps", "4")...)
	b, err := run.CombinedOutput()
	if err != nil || !bytes.Contains(b, []byte("PNG")) {
		t.Errorf("%s: %v: %s", strings.Join(rank.Command, " "), err, b)
	}
}
