//go:build linux && !fitmpi_portable

package mpi

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// config is settingsOf with an environment of a few variables.
func config(env map[string]string) (settings, error) {
	info := boot.Info{Rank: 1, Size: 3, LocalSize: 3, Cores: 1, Secret: make([]byte, boot.SecretSize)}
	return settingsOf(info, func(name string) string { return env[name] })
}

func TestEngineConfig(t *testing.T) {
	cfg, err := config(map[string]string{
		"FITMPI_PROGRESS": "caller", "FITMPI_TRANSPORT": "tcp", "FITMPI_SEND_BUFFER": "32M", "FITMPI_SHORT_MAX": "2K",
		"FITMPI_EAGER_MAX": "32768", "FITMPI_WINDOW": "2M", "FITMPI_COPY_MAX": "1M", "FITMPI_SPIN": "70us",
		"FITMPI_MODERATION": "2ms",
		"FITMPI_CLIQUES":    "3", "FITMPI_SOCKET_BUFFER": "4M", "FITMPI_CONGESTION": "cubic", "FITMPI_LOG": "debug",
		"FITMPI_COLL": "scan=chain", "FITMPI_CHECK": "1",
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Rank != 1 || cfg.Size != 3 || cfg.Progress != engine.Caller || cfg.SendBuffer != 32<<20 || cfg.ShortMax != 2<<10 ||
		cfg.EagerMax != 32<<10 || cfg.Window != 2<<20 || cfg.CopyMax != 1<<20 || cfg.Spin != 70*time.Microsecond || cfg.Moderation != 2*time.Millisecond ||
		cfg.SocketBuffer != 4<<20 || cfg.Congestion != "cubic" || cfg.Logger == nil ||
		cfg.transport != "tcp" || cfg.cliques != 3 || cfg.coll.String() != "scan=chain" || !cfg.checks {
		t.Errorf("the configuration is %+v", cfg)
	}
}

func TestEngineConfigDefaults(t *testing.T) {
	cfg, err := config(nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Progress != engine.Assist || cfg.Logger == nil || cfg.SendBuffer != 0 ||
		cfg.transport != "auto" || cfg.cliques != 0 || cfg.checks {
		t.Errorf("the configuration is %+v", cfg)
	}
	if wantSpin := runtime.NumCPU() >= 3; (cfg.Spin > 0) != wantSpin {
		t.Errorf("spin is %v with %d cores for 3 ranks", cfg.Spin, runtime.NumCPU())
	}
	if shared := cfg.Spin == 0; (cfg.Yield > 0) != shared || (cfg.Doze > 0) != shared {
		t.Errorf("spin is %v, yield %v, doze %v", cfg.Spin, cfg.Yield, cfg.Doze)
	}
	cfg, err = config(map[string]string{"FITMPI_SPIN": "0s"})
	if err != nil || cfg.Spin+cfg.Yield+cfg.Doze != 0 {
		t.Errorf("of who must not poll spin is %v, yield %v, doze %v; %v", cfg.Spin, cfg.Yield, cfg.Doze, err)
	}
	info := boot.Info{Rank: 1, Size: 1 << 16, LocalSize: 1 << 16, Cores: 1, ProcessRanks: 9, Secret: make([]byte, boot.SecretSize)}
	for transport, yields := range map[string]bool{"auto": true, "tcp": false} {
		cfg, err := settingsOf(info, func(name string) string { return map[string]string{"FITMPI_TRANSPORT": transport}[name] })
		if err != nil || cfg.Yield > 0 != yields {
			t.Errorf("one of 9 ranks of a process yields for %v over %s; %v", cfg.Yield, transport, err)
		}
	}
}

// A value that cannot be is an error that names the variable, the value, and what could be there.
func TestEngineConfigErrors(t *testing.T) {
	for _, test := range []struct{ name, value, says string }{
		{"FITMPI_PROGRESS", "turbo", "choose worker, assist or caller"},
		{"FITMPI_TRANSPORT", "carrier-pigeon", "choose auto, tcp or shm"},
		{"FITMPI_CHECK", "yes", "1 compares the types of sender and receiver, 0 does not"},
		{"FITMPI_CLIQUES", "0", "need a number from 1"},
		{"FITMPI_CLIQUES", "-2", "need a number from 1"},
		{"FITMPI_COLL", "allreduce=chain", "allreduce has no algorithm"},
		{"FITMPI_COLL", "gossip=ring", "want one of barrier, bcast"},
		{"FITMPI_SEND_BUFFER", "lots", "need a positive number of bytes"},
		{"FITMPI_SHORT_MAX", "-5", "need a positive number of bytes"},
		{"FITMPI_EAGER_MAX", "0", "need a positive number of bytes"},
		{"FITMPI_WINDOW", "1.5M", "need a positive number of bytes"},
		{"FITMPI_COPY_MAX", "4MB", "need a positive number of bytes"},
		{"FITMPI_SOCKET_BUFFER", "x", "need a positive number of bytes"},
		{"FITMPI_SPIN", "200", "duration"},
		{"FITMPI_SPIN", "-1s", "duration"},
		{"FITMPI_MODERATION", "-1s", "duration"},
		{"FITMPI_WORKERS", "0", "need a number from 1 to 64"},
		{"FITMPI_WORKERS", "65", "need a number from 1 to 64"},
		{"FITMPI_IFACE", "eth0,,", "neither the name of an interface"},
		{"FITMPI_PORT_RANGE", "5-1", "write FROM-TO"},
		{"FITMPI_CONNECT_TIMEOUT", "0s", "nothing can be reached"},
		{"FITMPI_CONNECT_TIMEOUT", "5", "duration"},
		{"FITMPI_TLS", "yes", "1 encrypts connections between ranks"},
		{"FITMPI_LOG", "loud", "choose debug, info, warn or error"},
	} {
		_, err := config(map[string]string{test.name: test.value})
		if err == nil || !strings.Contains(err.Error(), test.name+"="+test.value) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s=%s: error %v, want one that says %q", test.name, test.value, err, test.says)
		}
	}
}

// Whether a rank polls, and whether it keeps a P, depends on whether there is a core for every
// rank.
func TestCores(t *testing.T) {
	n := runtime.NumCPU()
	for _, test := range []struct {
		name   string
		info   boot.Info
		procs  int
		core   bool
		spareP bool
	}{
		{"one rank", boot.Info{LocalSize: 1, Cores: n}, n + 1, true, true},
		{"one rank, the user's GOMAXPROCS", boot.Info{LocalSize: 1, Cores: n}, n, true, false},
		{"a rank for each core", boot.Info{LocalSize: n, Cores: 1, ProcessRanks: 1}, 2, true, true},
		{"too many ranks", boot.Info{LocalSize: n + 1, Cores: 1, ProcessRanks: 1}, 2, false, true},
		{"bound to its core", boot.Info{LocalSize: n + 1, Cores: 1, ProcessRanks: 1, Bound: []int{1}}, 2, true, true},
		{"one process of all ranks", boot.Info{LocalSize: n, Cores: 1, ProcessRanks: n}, 2 * n, true, true},
		{"the same, the user's GOMAXPROCS", boot.Info{LocalSize: max(n, 2), Cores: 1, ProcessRanks: max(n, 2)}, 2*max(n, 2) - 1, n > 1, false},
		{"one process of too many ranks", boot.Info{LocalSize: n + 1, Cores: 1, ProcessRanks: n + 1}, 2*n + 1, false, false},
		{"two ranks bound to two cores", boot.Info{LocalSize: n + 4, Cores: 1, ProcessRanks: 2, Bound: []int{1, 2}}, 4, true, true},
		{"three ranks bound to two cores", boot.Info{LocalSize: n + 4, Cores: 1, ProcessRanks: 3, Bound: []int{1, 2}}, 6, false, false},
	} {
		before := runtime.GOMAXPROCS(test.procs)
		if core, spare := hasCore(test.info), hasSpareP(test.info); core != test.core || spare != test.spareP {
			t.Errorf("%s: a core for each: %v, a P to spare: %v, want %v and %v", test.name, core, spare, test.core, test.spareP)
		}
		runtime.GOMAXPROCS(before)
	}
}

// A worker rests unless every rank has a second core.
func TestModerated(t *testing.T) {
	n := runtime.NumCPU()
	for _, test := range []struct {
		info  boot.Info
		spare bool
	}{
		{boot.Info{LocalSize: 1, Cores: n, ProcessRanks: 1}, n >= 2},
		{boot.Info{LocalSize: n, Cores: 1, ProcessRanks: 1}, false},
		{boot.Info{LocalSize: n, Cores: 2, ProcessRanks: 1, Bound: []int{1, 2}}, true},
		{boot.Info{LocalSize: n, Cores: 1, ProcessRanks: 2, Bound: []int{1, 2}}, false},
		{boot.Info{LocalSize: n, Cores: 1, ProcessRanks: 2, Bound: []int{1, 2, 3, 4}}, true},
	} {
		test.info.Secret = make([]byte, boot.SecretSize)
		test.info.Size = test.info.LocalSize
		set, err := settingsOf(test.info, func(string) string { return "" })
		if err != nil || (set.Moderation == 0) != test.spare {
			t.Errorf("%+v: the worker rests for %v (%v), a core is to spare: %v", test.info, set.Moderation, err, test.spare)
		}
	}
}

// Workers get a P each, but never more in all than there are cores, and take them along.
func TestAddWorkers(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	before, n := runtime.GOMAXPROCS(0), runtime.NumCPU()
	for _, test := range []struct {
		add, extra int
		all        bool
	}{{n, n, true}, {1, n, false}, {64, n, false}, {-65, n, true}, {-n, 0, true}} {
		if all := addWorkers(test.add); all != test.all || runtime.GOMAXPROCS(0) != before+test.extra {
			t.Errorf("%d workers more: GOMAXPROCS is %d, all have one: %v, want %d and %v",
				test.add, runtime.GOMAXPROCS(0), all, before+test.extra, test.all)
		}
	}
	t.Setenv("GOMAXPROCS", "3")
	if addWorkers(2) || runtime.GOMAXPROCS(0) != before {
		t.Errorf("GOMAXPROCS is %d though the user chose it", runtime.GOMAXPROCS(0))
	}
}

// For interfaces and ports the launcher's word comes before the environment's; either may turn TLS
// on, none off.
func TestNetSettings(t *testing.T) {
	said := boot.Net{Interface: "eth1", Ports: "7-9"}
	for _, test := range []struct {
		net                  boot.Net
		iface, ports, tls    string
		wantIface, wantPorts string
		wantTLS              bool
	}{
		{boot.Net{}, "", "", "", "", "", false},
		{boot.Net{}, "eth0,10.0.0.0/8", "40-50", "1", "eth0,10.0.0.0/8", "40-50", true},
		{said, "eth0", "40-50", "0", "eth1", "7-9", false},
		{said, "not, looked at", "nor this", "", "eth1", "7-9", false},
		{boot.Net{TLS: true}, "", "", "0", "", "", true},
		{boot.Net{TLS: true}, "", "", "", "", "", true},
	} {
		env := map[string]string{"FITMPI_IFACE": test.iface, "FITMPI_PORT_RANGE": test.ports, "FITMPI_TLS": test.tls}
		info := boot.Info{Size: 1, LocalSize: 1, Cores: 1, Net: test.net}
		set, err := settingsOf(info, func(name string) string { return env[name] })
		if n := set.net; err != nil || n.choice.String() != test.wantIface || n.ports.String() != test.wantPorts || n.tls != test.wantTLS {
			t.Errorf("%+v with %v: %+v, %v", test.net, env, n, err)
		}
	}
}

// TestMaxMessageIsMemory: no message makes a rank allocate more than there is.
func TestMaxMessageIsMemory(t *testing.T) {
	info := boot.Info{Size: 1, LocalSize: 1, Cores: 1, Secret: make([]byte, boot.SecretSize)}
	set, err := settingsOf(info, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if limit := sys.MemoryLimit(); limit == 0 || uint64(set.MaxMessage) != limit {
		t.Errorf("messages of %d bytes on a host with %d", set.MaxMessage, limit)
	}
}
