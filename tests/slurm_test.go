//go:build linux

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/sys"
	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
)

// A Slurm cluster of this machine alone, which is a node, and, under other names, the two nodes of
// a second partition. Its daemons are started by the first test that needs them, in a directory of
// their own, and ended by TestMain.

// cluster is the running one.
var cluster struct {
	once    sync.Once
	tell    sync.Once // of what the daemons have written, to a test that has failed
	env     []string  // of its clients
	dir     string
	daemons []*exec.Cmd // in the order of starting
	why     string      // why there is none, which is no fault
	err     error       // why there is none, which is one
	stop    chan struct{}
	threads sync.WaitGroup
}

// slurm is the environment in which srun reaches the cluster.
func slurm(t *testing.T) []string {
	t.Helper()
	cluster.once.Do(startCluster)
	switch {
	case cluster.why != "":
		t.Skip(cluster.why)
	case cluster.err != nil:
		t.Fatal(cluster.err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			cluster.tell.Do(func() { tellCluster(t) })
		}
	})
	return cluster.env
}

// tellCluster shows the ends of what the daemons have written: Slurm tells its users little.
func tellCluster(t *testing.T) {
	const most = 8 << 10 // bytes of each
	logs, err := filepath.Glob(cluster.dir + "/*.log")
	for _, name := range logs {
		text, err := os.ReadFile(name)
		t.Logf("%s (%v):\n%s", filepath.Base(name), err, text[max(len(text)-most, 0):])
	}
	if len(logs) == 0 {
		t.Logf("no logs of Slurm: %v", err)
	}
}

const slurmConf = `ClusterName=fitmpi
SlurmctldHost=%[1]s(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge.socket
CredType=cred/munge
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool-%%n
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd-%%n.pid
SlurmctldLogFile=%[2]s/slurmctld.log
SlurmdLogFile=%[2]s/slurmd-%%n.log
SlurmctldPort=%[3]d
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SchedulerType=sched/builtin
SelectType=select/linear
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
MessageTimeout=100
TCPTimeout=100
SlurmdTimeout=0
NodeName=%[1]s NodeAddr=127.0.0.1 Port=%[4]d CPUs=16 State=UNKNOWN
NodeName=fitnode[1-2] NodeHostname=%[1]s NodeAddr=127.0.0.1 Port=%[5]d,%[6]d CPUs=8 State=UNKNOWN
PartitionName=two Nodes=fitnode[1-2] MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
PartitionName=all Nodes=%[1]s Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:8
`

// startCluster starts the daemons and waits for the node. The kernel ends them when the thread that
// has started them ends, so that not even a test that is killed leaves one behind; the thread is a
// goroutine's own until stopCluster.
func startCluster() {
	if os.Geteuid() != 0 {
		cluster.why = "starting Slurm's daemons needs root"
		return
	}
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sinfo"} {
		if _, err := exec.LookPath(program); err != nil {
			cluster.why = fmt.Sprintf("Slurm is not installed: %v", err)
			return
		}
	}
	cluster.stop = make(chan struct{})
	started := make(chan error)
	cluster.threads.Go(func() {
		runtime.LockOSThread() // never unlocked: the thread ends here
		started <- startDaemons()
		<-cluster.stop
		endDaemons()
	})
	if cluster.err = <-started; cluster.err == nil {
		cluster.err = awaitNodes()
	}
}

func startDaemons() error {
	dir, err := os.MkdirTemp("", "slurm")
	if err != nil {
		return err
	}
	cluster.dir = dir
	host, _, _ := strings.Cut(sys.Hostname(), ".")
	port, err := faultproxy.FreePorts(4)
	if err != nil {
		return err
	}
	conf := filepath.Join(dir, "slurm.conf")
	key := []byte(strings.Repeat("a key of munge that nobody else has ", 30))
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "state"), 0o700),
		os.WriteFile(conf, fmt.Appendf(nil, slurmConf, host, dir, port, port+1, port+2, port+3), 0o600),
		os.WriteFile(filepath.Join(dir, "munge.key"), key, 0o400),
	} {
		if err != nil {
			return err
		}
	}
	cluster.env = []string{"SLURM_CONF=" + conf, "MUNGE_SOCKET=" + dir + "/munge.socket"}
	for _, args := range [][]string{
		{"munged", "-F", "-f", "-S", dir + "/munge.socket", "--key-file=" + dir + "/munge.key", "--log-file=" + dir + "/munged.log",
			"--pid-file=" + dir + "/munged.pid", "--seed-file=" + dir + "/munged.seed"},
		{"slurmctld", "-D", "-f", conf},
		{"slurmd", "-D", "-f", conf, "-N", host},
		{"slurmd", "-D", "-f", conf, "-N", "fitnode1"},
		{"slurmd", "-D", "-f", conf, "-N", "fitnode2"},
	} {
		if err := startDaemon(dir, args); err != nil {
			return err
		}
		if args[0] == "munged" {
			if err := awaitFile(dir + "/munge.socket"); err != nil {
				return err
			}
		}
	}
	return nil
}

func startDaemon(dir string, args []string) error {
	out, err := os.Create(filepath.Join(dir, args[0]+".out"))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), cluster.env...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := cmd.Start(); err != nil {
		return err
	}
	cluster.daemons = append(cluster.daemons, cmd)
	return nil
}

func awaitFile(name string) error {
	for until := time.Now().Add(deadline); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(name); err == nil {
			return nil
		} else if time.Now().After(until) {
			return err
		}
	}
}

// awaitNodes waits until the nodes of both partitions take jobs; sinfo has a line for each state
// that a node is in.
func awaitNodes() error {
	for until := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		cmd := exec.CommandContext(ctx, "sinfo", "-h", "-o", "%t")
		cmd.Env = append(os.Environ(), cluster.env...)
		out, err := cmd.CombinedOutput()
		cancel()
		switch state := strings.TrimSpace(string(out)); {
		case err == nil && state == "idle":
			return nil
		case time.Now().After(until):
			return fmt.Errorf("the nodes are %q (%v): see %s", state, err, cluster.dir)
		}
	}
}

// stopCluster ends what startCluster has started.
func stopCluster() {
	if cluster.stop != nil {
		close(cluster.stop)
		cluster.threads.Wait()
		os.RemoveAll(cluster.dir)
	}
}

// endDaemons ends them by their ids, the last first.
func endDaemons() {
	for _, cmd := range slices.Backward(cluster.daemons) {
		cmd.Process.Signal(syscall.SIGTERM)
		kill := time.AfterFunc(deadline, func() { cmd.Process.Kill() })
		cmd.Wait()
		kill.Stop()
	}
}
