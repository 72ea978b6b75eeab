package schema

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1" // its module has the definition of MPIJob beside it
)

// version is the Kubernetes whose schemas count. What the manifests need is older.
const version = "1.30"

// validate is what the validator says of a manifest.
func validate(t *testing.T, manifest string) (said string, ok bool) {
	t.Helper()
	operator, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubeflow/mpi-operator").Output()
	if err != nil {
		t.Fatal(err)
	}
	crds := t.TempDir()
	definition, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(operator)), "manifests/base/kubeflow.org_mpijobs.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(crds, "mpijobs.yaml"), definition, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "tool", "kubectl-validate", "--version", version, "--local-crds", crds, manifest).CombinedOutput()
	return string(out), err == nil
}

func TestManifests(t *testing.T) {
	for _, name := range []string{"../job.yaml", "../networkpolicy.yaml", "../mpijob.yaml"} {
		if said, ok := validate(t, name); !ok || !strings.Contains(said, "OK") {
			t.Errorf("%s:\n%s", name, said)
		}
	}
}

// PodMonitor is no kind of Kubernetes: TestPortsAndMetrics holds its manifest.

// The validator finds what is wrong.
func TestWrongManifests(t *testing.T) {
	for _, tc := range []struct{ name, is, wrong, says string }{
		{"../job.yaml", "completionMode: Indexed", "completionMode: [Indexed]", "completionMode"},
		{"../mpijob.yaml", "slotsPerWorker:", "slotsPerWorkers:", "slotsPerWorkers"},
	} {
		manifest, err := os.ReadFile(tc.name)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(t.TempDir(), "wrong.yaml")
		if err := os.WriteFile(name, bytes.Replace(manifest, []byte(tc.is), []byte(tc.wrong), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, ok := validate(t, name); ok || !strings.Contains(said, tc.says) {
			t.Errorf("%s with %q:\n%s", tc.name, tc.wrong, said)
		}
	}
}
