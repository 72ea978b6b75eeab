//go:build linux && !fitmpi_portable

package boot

import (
	"crypto/sha256"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// claimed is what a launcher's environment leads to: "source rank/size", "one" for a job of one
// rank, or the error.
func claimed(environ []string) string {
	wanted, err := wantedSource(environ)
	if err != nil {
		return err.Error()
	}
	if wanted == "none" {
		return "one"
	}
	c, err := findClaim(environ, wanted, nil)
	switch {
	case err != nil:
		return err.Error()
	case c == nil:
		return "one"
	}
	s := c.source + " " + strconv.Itoa(c.rank) + "/" + strconv.Itoa(c.size)
	if c.isOneHost {
		s += " on one host"
	}
	return s
}

func TestClaims(t *testing.T) {
	const step = "SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_NTASKS=4 SLURM_STEP_NUM_NODES=2 SLURM_PROCID=2"
	const ompi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=4 PMIX_RANK=1"
	mine := " SLURM_TASK_PID=" + strconv.Itoa(os.Getpid())
	for _, tc := range []struct{ environ, want string }{
		{"HOME=/", "one"},
		{"PMI_RANK=1 PMI_SIZE=4", "pmi 1/4"},
		{step, "slurm 2/4"},
		{strings.Replace(step, "NODES=2", "NODES=1", 1), "slurm 2/4 on one host"},
		{ompi, "openmpi 1/4 on one host"},
		{strings.Replace(ompi, "LOCAL_SIZE=4", "LOCAL_SIZE=2", 1), "openmpi 1/4"},
		{"JOB_COMPLETION_INDEX=3 FITMPI_SIZE=4", "kubernetes 3/4"},
		{"PMIX_RANK=3 FITMPI_SIZE=4", "pmix 3/4"},
		{"FITMPI_RANK=0 FITMPI_SIZE=1", "environment 0/1"},

		// What fitrun has set for reading makes no process a rank, and completes nothing that
		// another launcher says.
		{"FITMPI_RANK=2 FITMPI_SIZE=4 FITMPI_SHOWN=2/4", "one"},
		{"PMI_RANK=1 PMI_SIZE=3 FITMPI_RANK=2 FITMPI_SIZE=4 FITMPI_SHOWN=2/4", "pmi 1/3"},
		{"PMIX_RANK=3 FITMPI_RANK=2 FITMPI_SIZE=4 FITMPI_SHOWN=2/4",
			"boot: PMIX_RANK=3 says which rank this is, but nothing says of how many: set FITMPI_SIZE; or FITMPI_LAUNCHER=none if each process is a job of its own"},
		{"FITMPI_RANK=2 FITMPI_SIZE=4 FITMPI_SHOWN=2/4 FITMPI_RANK=0 FITMPI_SIZE=2", "environment 0/2"}, // what a user sets below it counts
		{"FITMPI_RENDEZVOUS=h:1 FITMPI_RANK=2 FITMPI_SIZE=4 FITMPI_SHOWN=2/4",
			"boot: FITMPI_RENDEZVOUS=h:1 is set, but nothing says which rank this is: start it by a launcher, or set FITMPI_RANK too; those that fitrun sets for reading do not count: unset FITMPI_SHOWN if they are meant"},
		{"FITMPI_LAUNCHER=environment FITMPI_RANK=2 FITMPI_SIZE=4 FITMPI_SHOWN=2/4",
			"boot: FITMPI_LAUNCHER=environment, but FITMPI_RANK is not set, or not by that launcher for this process; those that fitrun sets for reading do not count: unset FITMPI_SHOWN if they are meant"},

		// Slurm says little where srun did not start the process: in a batch script, in an
		// allocation, in an interactive step.
		{"SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_TASK_PID=12", "one"},
		{"SLURM_JOB_ID=7 SLURM_NTASKS=4", "one"},
		{"SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=4294967291 SLURM_STEP_NUM_TASKS=1", "one"},
		{"SLURM_JOB_ID=7 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1", "one"},
		{"SLURM_PROCID=0 SLURM_STEP_ID=batch SLURM_STEP_NUM_TASKS=4", "one"},
		{"SLURM_PROCID=0 SLURM_STEP_ID=3", "one"},

		// Two that agree.
		{step + " PMI_RANK=2 PMI_SIZE=4", "pmi 2/4"},
		{step + " PMIX_RANK=2", "slurm 2/4"},
		{ompi + " FITMPI_SIZE=4", "openmpi 1/4 on one host"},

		// Two that do not.
		{step + " PMI_RANK=1 PMI_SIZE=4",
			"boot: PMI_RANK=1 and SLURM_PROCID=2 contradict each other: set FITMPI_LAUNCHER to say which counts, pmi or slurm"},
		{step + " PMI_RANK=2 PMI_SIZE=8",
			"boot: PMI_SIZE=8 and SLURM_STEP_NUM_TASKS=4 contradict each other: set FITMPI_LAUNCHER to say which counts, pmi or slurm"},
		{step + mine + " PMI_RANK=1 PMI_SIZE=4",
			"boot: PMI_RANK=1 and SLURM_PROCID=2 contradict each other: set FITMPI_LAUNCHER to say which counts, pmi or slurm"},
		{step + " PMIX_RANK=1",
			"boot: SLURM_PROCID=2 and PMIX_RANK=1 contradict each other: set FITMPI_LAUNCHER to say which counts, slurm or pmix"},
		{"JOB_COMPLETION_INDEX=0 " + ompi,
			"boot: OMPI_COMM_WORLD_RANK=1 and JOB_COMPLETION_INDEX=0 contradict each other: set FITMPI_LAUNCHER to say which counts, openmpi or kubernetes"},
		{"JOB_COMPLETION_INDEX=0 FITMPI_LAUNCHER=openmpi " + ompi, "openmpi 1/4 on one host"},
		{"FITMPI_SIZE=3 FITMPI_RANK=1 " + ompi,
			"boot: FITMPI_SIZE=3 and OMPI_COMM_WORLD_SIZE=4 contradict each other: set FITMPI_LAUNCHER to say which counts, environment or openmpi"},

		// A launcher that srun has started on each node, and that has started this process: Slurm
		// speaks of the launcher.
		{step + " SLURM_TASK_PID=1 " + ompi, "openmpi 1/4 on one host"},
		{step + " SLURM_TASK_PID=1 PMI_RANK=5 PMI_SIZE=8", "pmi 5/8"},
		{step + " SLURM_TASK_PID=1", "slurm 2/4"}, // a script of the user's between them

		// Not enough, or nonsense.
		{"JOB_COMPLETION_INDEX=3",
			"boot: JOB_COMPLETION_INDEX=3 says which rank this is, but nothing says of how many: set FITMPI_SIZE; or FITMPI_LAUNCHER=none if each process is a job of its own"},
		{"JOB_COMPLETION_INDEX=3 FITMPI_LAUNCHER=none", "one"},
		{"PMI_RANK=3", "boot: PMI_RANK=3 says which rank this is, but nothing says of how many: set PMI_SIZE; or FITMPI_LAUNCHER=none if each process is a job of its own"},
		{"FITMPI_RENDEZVOUS=a:1", "boot: FITMPI_RENDEZVOUS=a:1 is set, but nothing says which rank this is: start it by a launcher, or set FITMPI_RANK too"},
		{"FITMPI_SIZE=2", "boot: FITMPI_SIZE=2 is set, but nothing says which rank this is: start it by a launcher, or set FITMPI_RANK too"},
		{"FITMPI_SIZE=1", "one"},
		{"PMI_RANK=4 PMI_SIZE=4", "boot: PMI_RANK=4 and PMI_SIZE=4 contradict each other: ranks count from 0"},
		{"PMI_RANK=-1 PMI_SIZE=4", "boot: PMI_RANK=-1: want a number from 0 to 1048576"},
		{"PMI_RANK=0 PMI_SIZE=0", "boot: PMI_SIZE=0: want a number from 1 to 1048576"},
		{"PMI_RANK=0 PMI_SIZE=4000000", "boot: PMI_SIZE=4000000: want a number from 1 to 1048576"},
		{"OMPI_COMM_WORLD_RANK=one OMPI_COMM_WORLD_SIZE=4", "boot: OMPI_COMM_WORLD_RANK=one: want a number from 0 to 1048576"},
		{"FITMPI_LAUNCHER=fitrum", "boot: FITMPI_LAUNCHER=fitrum: choose auto, none, environment, pmi, kubernetes, slurm, openmpi, pmix"},
		{"FITMPI_LAUNCHER=slurm " + ompi, "boot: FITMPI_LAUNCHER=slurm, but SLURM_PROCID is not set, or not by that launcher for this process"},
		{"FITMPI_LAUNCHER=auto " + ompi, "openmpi 1/4 on one host"},
	} {
		if got := claimed(strings.Fields(tc.environ)); got != tc.want {
			t.Errorf("%s:\n %s, want\n %s", tc.environ, got, tc.want)
		}
	}
}

// Where ranks meet whose launcher exchanges nothing.
func TestMeetingOf(t *testing.T) {
	secret := t.TempDir() + "/secret"
	if err := os.WriteFile(secret, []byte(strings.Repeat("s", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	uid := strconv.Itoa(os.Geteuid())
	file := " FITMPI_SECRET_FILE=" + secret
	const k8s = "JOB_COMPLETION_INDEX=3 FITMPI_SIZE=4"
	const slurm = "SLURM_JOB_ID=7 SLURM_STEP_ID=1 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=2 SLURM_STEP_NUM_NODES="
	const ompi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE="
	long := strings.Repeat("prterun-a-host.of.some.cluster-1234@1", 6)
	for _, tc := range []struct{ environ, want string }{
		{k8s + " FITMPI_RENDEZVOUS=job-0.svc:7000" + file, "tcp job-0.svc:7000 10m0s"},
		{k8s + " FITMPI_RENDEZVOUS=[::1]:7000 FITMPI_RENDEZVOUS_TIMEOUT=90s" + file, "tcp [::1]:7000 1m30s"},
		{slurm + "1", "unix fitmpi-" + uid + "-slurm-7-1 10m0s"},
		{slurm + "2 SLURM_STEP_NODELIST=n[07-09],m1" + file, "tcp n07:12260 10m0s"},
		{ompi + "4 PMIX_NAMESPACE=123", "unix fitmpi-" + uid + "-openmpi-123 10m0s"},
		{ompi + "4 PMIX_NAMESPACE=" + long[:80], "unix fitmpi-" + uid + "-openmpi-" + long[:80] + " 10m0s"},
		{ompi + "4 PMIX_NAMESPACE=" + long, "unix fitmpi-" + uid + "-openmpi-" + fmt.Sprintf("%x", sha256.Sum256([]byte(long))) + " 10m0s"},
		{ompi + "4 OMPI_MCA_ess_base_jobid=9", "unix fitmpi-" + uid + "-openmpi-9 10m0s"},
		{ompi + "4 PMIX_NAMESPACE=123 FITMPI_RENDEZVOUS=h:1" + file, "tcp h:1 10m0s"},

		{k8s, "boot: JOB_COMPLETION_INDEX=3 of 4 (kubernetes) says which rank this is, but not where rank 0 is: set FITMPI_RENDEZVOUS=host:port, at which rank 0 listens, and FITMPI_SECRET_FILE"},
		{ompi + "2 PMIX_NAMESPACE=123", "boot: OMPI_COMM_WORLD_RANK=1 of 4 (openmpi) says which rank this is, but not where rank 0 is: set FITMPI_RENDEZVOUS=host:port, at which rank 0 listens, and FITMPI_SECRET_FILE"},
		{ompi + "4 PMIX_NAMESPACE=", "boot: OMPI_COMM_WORLD_RANK=1 of 4, all on this host, but PMIX_NAMESPACE does not name the job: set FITMPI_RENDEZVOUS=127.0.0.1:port and FITMPI_SECRET_FILE"},
		{ompi + "4", "boot: OMPI_COMM_WORLD_RANK=1 of 4, all on this host, but OMPI_MCA_ess_base_jobid does not name the job: set FITMPI_RENDEZVOUS=127.0.0.1:port and FITMPI_SECRET_FILE"},
		{k8s + " FITMPI_RENDEZVOUS=h:1", "boot: ranks meet at h:1, and must prove that they belong together: set FITMPI_SECRET_FILE to a file with a secret that all hosts have"},
		{k8s + " FITMPI_RENDEZVOUS=h:1 FITMPI_SECRET_FILE=/none", "boot: FITMPI_SECRET_FILE: secret file /none: no such file or directory"},
		{k8s + " FITMPI_RENDEZVOUS=h:0" + file, "boot: FITMPI_RENDEZVOUS=h:0: want host:port, where rank 0 is and a port that is free there, 1 to 65535"},
		{k8s + " FITMPI_RENDEZVOUS=h" + file, "boot: FITMPI_RENDEZVOUS=h: want host:port, where rank 0 is and a port that is free there, 1 to 65535"},
		{k8s + " FITMPI_RENDEZVOUS=:7000" + file, "boot: FITMPI_RENDEZVOUS=:7000: want host:port, where rank 0 is and a port that is free there, 1 to 65535"},
		{k8s + " FITMPI_RENDEZVOUS=h:http" + file, "boot: FITMPI_RENDEZVOUS=h:http: want host:port, where rank 0 is and a port that is free there, 1 to 65535"},
		{k8s + " FITMPI_RENDEZVOUS=h:1 FITMPI_RENDEZVOUS_TIMEOUT=5" + file, "boot: FITMPI_RENDEZVOUS_TIMEOUT=5: want a duration such as 90s or 10m"},
		{k8s + " FITMPI_RENDEZVOUS=h:1 FITMPI_RENDEZVOUS_TIMEOUT=-1s" + file, "boot: FITMPI_RENDEZVOUS_TIMEOUT=-1s: want a duration such as 90s or 10m"},
		{slurm + "2 SLURM_STEP_NODELIST=n[1" + file, "boot: SLURM_STEP_NODELIST=n[1: the list has a [ without ]; set FITMPI_RENDEZVOUS=host:port, at which rank 0 listens"},
		{strings.Replace(slurm, "=7", "=67043327", 1) + "2 SLURM_STEP_NODELIST=n1" + file, "tcp n1:23100 10m0s"},
		{strings.Replace(slurm, "=7", "=seven", 1) + "2 SLURM_STEP_NODELIST=n1" + file, "boot: SLURM_JOB_ID=seven is not a job's number: set FITMPI_RENDEZVOUS=host:port, at which rank 0 listens"},
		{strings.Replace(slurm, "_JOB_ID=7", "_JOB_ID=", 1) + "2 SLURM_STEP_NODELIST=n1" + file, "boot: SLURM_JOB_ID= is not a job's number: set FITMPI_RENDEZVOUS=host:port, at which rank 0 listens"},
		{slurm + "2 SLURM_STEP_NODELIST=n1", "boot: ranks meet at n1:12260, and must prove that they belong together: set FITMPI_SECRET_FILE to a file with a secret that all hosts have"},
	} {
		environ := strings.Fields(tc.environ)
		c, err := findClaim(environ, "", nil)
		if err != nil {
			t.Errorf("%s: %v", tc.environ, err)
			continue
		}
		m, err := meetingOf(environ, c, os.Stderr)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = m.network + " " + m.address + " " + m.patience.String()
		}
		if got != tc.want {
			t.Errorf("%s:\n %s, want\n %s", tc.environ, got, tc.want)
		}
	}
}

func TestFirstNode(t *testing.T) {
	for list, want := range map[string]string{
		"n1": "n1", "n1,n2": "n1", "n[1-4]": "n1", "n[08-12,20],m1": "n08", "a,n[1-2]": "a", "rack-a[3]-node.example": "rack-a3-node.example",
		"n[7,9]": "n7", "x[1-2]y,z": "x1y",
		"":         `it begins with "", which is no host's name`,
		"n[1-4":    "the list has a [ without ]",
		"n[]":      "the list has a range without numbers",
		"n[-4]":    "the list has a range without numbers",
		"a b":      `it begins with "a b", which is no host's name`,
		"r[1]n[2]": `it begins with "r1n[2]", which is no host's name`,
	} {
		got, err := firstNode(list)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %s, want %s", list, got, want)
		}
	}
}

func FuzzFirstNode(f *testing.F) {
	for _, list := range []string{"n1", "n[1-4]", "n[08-12,20],m1", "[", "]", "a]b[c"} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		if name, err := firstNode(list); err == nil && (name == "" || strings.ContainsAny(name, "[], \n:")) {
			t.Errorf("%q gives %q", list, name)
		}
	})
}

// How many ranks this process is, by what launchers say.
func TestRanksHere(t *testing.T) {
	for environ, want := range map[string]int{
		"":                                             0,
		"FITMPI_SIZE=1":                                0,
		"FITMPI_BOOT_FD=3":                             1,
		"FITMPI_BOOT_FD=3,4,5":                         3,
		"PMI_RANK=1 PMI_SIZE=4":                        1,
		"PMI_PORT=h:1 PMI_ID=0":                        1,
		"FITMPI_LAUNCHER=none PMI_PORT=h:1":            0,
		"FITMPI_LAUNCHER=none PMI_RANK=1":              0,
		"FITMPI_LAUNCHER=slurm":                        1, // wrong, as FindAll says
		"FITMPI_LAUNCHER=fitrum":                       1,
		"OMPI_COMM_WORLD_RANK=one":                     1,
		"FITMPI_RANK=0 FITMPI_SIZE=3 FITMPI_SHOWN=0/3": 0,
		"FITMPI_RANK=0 FITMPI_SIZE=1":                  1,
		"OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_SIZE=4": 1,
	} {
		if got := RanksHere(strings.Fields(environ)); got != want {
			t.Errorf("%q: %d, want %d", environ, got, want)
		}
	}
}
