package k8s

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// mpiJob has the fields of kubeflow.org/v2beta1 MPIJob that a user may set. The operator's own
// module has the whole of Kubernetes behind it.
type mpiJob struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		SlotsPerWorker         *int32 `json:"slotsPerWorker,omitempty"`
		RunLauncherAsWorker    *bool  `json:"runLauncherAsWorker,omitempty"`
		SSHAuthMountPath       string `json:"sshAuthMountPath,omitempty"`
		LauncherCreationPolicy string `json:"launcherCreationPolicy,omitempty"`
		MPIImplementation      string `json:"mpiImplementation,omitempty"`
		RunPolicy              struct {
			CleanPodPolicy          *string `json:"cleanPodPolicy,omitempty"`
			TTLSecondsAfterFinished *int32  `json:"ttlSecondsAfterFinished,omitempty"`
			ActiveDeadlineSeconds   *int64  `json:"activeDeadlineSeconds,omitempty"`
			BackoffLimit            *int32  `json:"backoffLimit,omitempty"`
			Suspend                 *bool   `json:"suspend,omitempty"`
		} `json:"runPolicy"`
		MPIReplicaSpecs map[string]*struct {
			Replicas      *int32               `json:"replicas,omitempty"`
			Template      core.PodTemplateSpec `json:"template"`
			RestartPolicy string               `json:"restartPolicy,omitempty"`
		} `json:"mpiReplicaSpecs"`
	} `json:"spec"`
}

// podMonitor has the fields of monitoring.coreos.com/v1 PodMonitor that the manifest may set, by
// the operator's documentation of its interface. Its module has the whole of Kubernetes behind it.
type podMonitor struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		JobLabel            string             `json:"jobLabel,omitempty"`
		PodTargetLabels     []string           `json:"podTargetLabels,omitempty"`
		Selector            meta.LabelSelector `json:"selector"`
		PodMetricsEndpoints []struct {
			Port          string `json:"port,omitempty"`
			Path          string `json:"path,omitempty"`
			Scheme        string `json:"scheme,omitempty"`
			Interval      string `json:"interval,omitempty"`
			ScrapeTimeout string `json:"scrapeTimeout,omitempty"`
			Authorization *struct {
				Type        string                  `json:"type,omitempty"`
				Credentials *core.SecretKeySelector `json:"credentials,omitempty"`
			} `json:"authorization,omitempty"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

// decode reads the documents of a manifest strictly: an unknown field, a field twice or a value of
// another type is an error.
func decode(manifest []byte) (objects []any, err error) {
	for doc := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			return nil, err
		}
		var object any
		switch kind.APIVersion + " " + kind.Kind {
		case "v1 Service":
			object = new(core.Service)
		case "batch/v1 Job":
			object = new(batch.Job)
		case "kubeflow.org/v2beta1 MPIJob":
			object = new(mpiJob)
		case "monitoring.coreos.com/v1 PodMonitor":
			object = new(podMonitor)
		case "networking.k8s.io/v1 NetworkPolicy":
			object = new(networking.NetworkPolicy)
		default:
			return nil, fmt.Errorf("%s %s: no such kind", kind.APIVersion, kind.Kind)
		}
		text, err := yaml.YAMLToJSONStrict(doc)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Kind, err)
		}
		unknown, err := json.UnmarshalStrict(text, object)
		if err := errors.Join(append(unknown, err)...); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.Kind, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

func read(t *testing.T, name string) ([]byte, []any) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := decode(b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return b, objects
}

func want[V comparable](t *testing.T, what string, got, want V) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// What must agree in the manifest of a job without a launcher pod.
func TestJob(t *testing.T) {
	_, objects := read(t, "job.yaml")
	if len(objects) != 2 {
		t.Fatalf("%d objects, want a service and a job", len(objects))
	}
	service, job := objects[0].(*core.Service), objects[1].(*batch.Job)
	pod := job.Spec.Template.Spec
	rank := pod.Containers[0]
	env := make(map[string]string)
	for _, v := range rank.Env {
		env[v.Name] = v.Value
	}
	want(t, "clusterIP of the service", service.Spec.ClusterIP, core.ClusterIPNone)
	want(t, "publishNotReadyAddresses", service.Spec.PublishNotReadyAddresses, true)
	want(t, "what the service selects", service.Spec.Selector[batch.JobNameLabel], job.Name)
	want(t, "subdomain", pod.Subdomain, service.Name)
	want(t, "completionMode", *job.Spec.CompletionMode, batch.IndexedCompletion)
	want(t, "parallelism", *job.Spec.Parallelism, *job.Spec.Completions)
	want(t, "FITMPI_SIZE", env["FITMPI_SIZE"], strconv.Itoa(int(*job.Spec.Completions)))
	want(t, "backoffLimit", *job.Spec.BackoffLimit, 0)
	want(t, "restartPolicy", pod.RestartPolicy, core.RestartPolicyNever)

	host, port, err := net.SplitHostPort(env["FITMPI_RENDEZVOUS"])
	if err != nil {
		t.Fatal(err)
	}
	want(t, "host of FITMPI_RENDEZVOUS", host, job.Name+"-0."+service.Name)
	want(t, "port of FITMPI_RENDEZVOUS", port, strconv.Itoa(int(rank.Ports[0].ContainerPort)))
	want(t, "port of the service", service.Spec.Ports[0].Port, rank.Ports[0].ContainerPort)

	volume := pod.Volumes[0]
	mount := rank.VolumeMounts[0]
	want(t, "volume that is mounted", mount.Name, volume.Name)
	want(t, "FITMPI_SECRET_FILE", env["FITMPI_SECRET_FILE"], filepath.Join(mount.MountPath, volume.Secret.Items[0].Path))
	want(t, "mode of the secret", *volume.Secret.DefaultMode, 0o440)
	want(t, "fsGroup", *pod.SecurityContext.FSGroup, *pod.SecurityContext.RunAsGroup)
}

// TestPortsAndMetrics: other ranks and Prometheus may come to a rank. They come to the ports where
// it listens, and Prometheus has the token that it must know.
func TestPortsAndMetrics(t *testing.T) {
	_, objects := read(t, "job.yaml")
	job := objects[1].(*batch.Job)
	pod := job.Spec.Template.Spec
	rank := pod.Containers[0]
	env := make(map[string]string)
	for _, v := range rank.Env {
		env[v.Name] = v.Value
	}
	ports := make(map[string]int32)
	for _, p := range rank.Ports {
		ports[p.Name] = p.ContainerPort
	}
	want(t, "FITMPI_METRICS", env["FITMPI_METRICS"], fmt.Sprintf("0.0.0.0:%d", ports["metrics"]))

	_, objects = read(t, "podmonitor.yaml")
	monitor := objects[0].(*podMonitor)
	endpoint := monitor.Spec.PodMetricsEndpoints[0]
	want(t, "what the monitor selects", monitor.Spec.Selector.MatchLabels[batch.JobNameLabel], job.Name)
	want(t, "label of the job", monitor.Spec.JobLabel, batch.JobNameLabel)
	want(t, "path", endpoint.Path, "/metrics")
	want(t, "whether there is a port of that name", ports[endpoint.Port] != 0, true)
	volume := pod.Volumes[0].Secret
	token := endpoint.Authorization.Credentials
	want(t, "secret with the token", token.Name, volume.SecretName)
	want(t, "way of the token", endpoint.Authorization.Type, "Bearer")
	path := ""
	for _, item := range volume.Items {
		if item.Key == token.Key {
			path = filepath.Join(rank.VolumeMounts[0].MountPath, item.Path)
		}
	}
	want(t, "FITMPI_HTTP_AUTH", env["FITMPI_HTTP_AUTH"], path)
	want(t, "whether the token is the job's secret", env["FITMPI_HTTP_AUTH"] == env["FITMPI_SECRET_FILE"], false)

	_, objects = read(t, "networkpolicy.yaml")
	policy := objects[0].(*networking.NetworkPolicy).Spec
	want(t, "what the policy selects", policy.PodSelector.MatchLabels[batch.JobNameLabel], job.Name)
	ranks, prometheus := policy.Ingress[0], policy.Ingress[1]
	want(t, "who comes to the ranks", ranks.From[0].PodSelector.MatchLabels[batch.JobNameLabel], job.Name)
	want(t, "port of the rendezvous", ranks.Ports[0].Port.IntVal, ports["rendezvous"])
	want(t, "FITMPI_PORT_RANGE", env["FITMPI_PORT_RANGE"], fmt.Sprintf("%d-%d", ranks.Ports[1].Port.IntVal, *ranks.Ports[1].EndPort))
	want(t, "port for Prometheus", prometheus.Ports[0].Port.IntVal, ports["metrics"])
}

// fitrun as the launcher of the MPI operator.
func TestMPIJob(t *testing.T) {
	_, objects := read(t, "mpijob.yaml")
	spec := objects[0].(*mpiJob).Spec
	want(t, "replicas of the launcher", *spec.MPIReplicaSpecs["Launcher"].Replicas, 1)
	want(t, "kinds of replicas", len(spec.MPIReplicaSpecs), 2)
	command := spec.MPIReplicaSpecs["Launcher"].Template.Spec.Containers[0].Command
	want(t, "command", strings.Join(command[:3], " "), "fitrun --hostfile /etc/mpi/hostfile")
	want(t, "mpiImplementation", spec.MPIImplementation, "OpenMPI")
	cores := spec.MPIReplicaSpecs["Worker"].Template.Spec.Containers[0].Resources.Limits[core.ResourceCPU]
	want(t, "cores of a worker", cores.Value(), int64(*spec.SlotsPerWorker))
}

// A manifest that the API server would not take, or of which it would ignore a part, is refused
// here too.
func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ file, old, new, want string }{
		{"job.yaml", "completionMode:", "completionmode:", "completionmode"},
		{"job.yaml", "completions: 4", `completions: "4"`, "cannot unmarshal string"},
		{"job.yaml", "restartPolicy: Never", "restartPolice: Never", "restartPolice"},
		{"job.yaml", "clusterIP: None", "clusterIP: None\n  clusterIP: None", "already set in map"},
		{"job.yaml", "          env:", "         env:", "yaml"},
		{"job.yaml", "batch/v1", "batch/v1beta1", "no such kind"},
		{"podmonitor.yaml", "podMetricsEndpoints:", "endpoints:", "endpoints"},
		{"podmonitor.yaml", "port: metrics", "port: 9100", "cannot unmarshal number"},
		{"networkpolicy.yaml", "endPort: 40009", "lastPort: 40009", "lastPort"},
		{"mpijob.yaml", "slotsPerWorker", "slotsPerWorkers", "slotsPerWorkers"},
		{"mpijob.yaml", "containers:", "container:", "container"},
	} {
		b, _ := read(t, tc.file)
		if !bytes.Contains(b, []byte(tc.old)) {
			t.Fatalf("%s does not have %q", tc.file, tc.old)
		}
		_, err := decode(bytes.Replace(b, []byte(tc.old), []byte(tc.new), 1))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s with %q: %v, want an error that says %q", tc.file, tc.new, err, tc.want)
		}
	}
}

// The variables in the manifests are those that ranks and fitrun read.
func TestVariables(t *testing.T) {
	b, err := os.ReadFile("../../internal/params/table.go")
	if err != nil {
		t.Fatal(err)
	}
	_, objects := read(t, "job.yaml")
	for _, v := range objects[1].(*batch.Job).Spec.Template.Spec.Containers[0].Env {
		name := v.Name
		if !bytes.Contains(b, []byte(`"`+name+`"`)) {
			t.Errorf("ranks do not read %s", name)
		}
	}
}
