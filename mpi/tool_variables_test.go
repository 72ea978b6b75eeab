package mpi

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/params"
)

// Ranks take exactly the variables that the table says they read.
func TestTakers(t *testing.T) {
	var want []string
	for _, v := range params.Of(params.Rank) {
		want = append(want, v.Name)
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(takers)); !slices.Equal(got, want) {
		t.Errorf("ranks take\n%s\nthe table has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What a rank says of a variable is what it was told, in a form that it would take again, and where
// that came from.
func TestVariables(t *testing.T) {
	told := map[string]string{
		"FITMPI_PROGRESS": "worker", "FITMPI_SPIN": "70us", "FITMPI_MODERATION": "300us", "FITMPI_WORKERS": "2", "FITMPI_SEND_BUFFER": "32M", "FITMPI_SHORT_MAX": "2K", "FITMPI_EAGER_MAX": "32K",
		"FITMPI_WINDOW": "2M", "FITMPI_UNEXPECTED": "128M", "FITMPI_EARLY": "3M", "FITMPI_COPY_MAX": "1M", "FITMPI_TRANSPORT": "auto", "FITMPI_SHM_COPY": "read", "FITMPI_CLIQUES": "1",
		"FITMPI_IFACE": "127.0.0.1", "FITMPI_PORT_RANGE": "20000-20999", "FITMPI_TLS": "1", "FITMPI_CONNECT_TIMEOUT": "7s",
		"FITMPI_RESUME": "on", "FITMPI_RECONNECT": "9s", "FITMPI_RESUME_BUFFER": "8M", "FITMPI_HEARTBEAT": "700ms", "FITMPI_HEARTBEAT_TIMEOUT": "8s",
		"FITMPI_SOCKET_BUFFER": "4M", "FITMPI_CONGESTION": "system", "FITMPI_COLL": "scan=chain", "FITMPI_CHECK": "1", "FITMPI_FT": "1",
		"FITMPI_ERRHANDLER": "return", "FITMPI_LOG": "error", "FITMPI_METRICS": "unix:/tmp/x", "FITMPI_HTTP_AUTH": "/tmp/z", "FITMPI_HTTP_OPEN": "1", "FITMPI_PPROF": "1",
		"FITMPI_PUSH": "http://127.0.0.1:9", "FITMPI_PUSH_JOB": "mine", "FITMPI_CHECKPOINT": "/tmp/y",
		"FITMPI_NAMESERVER": "set", // all that is shown of a secret
	}
	for name, v := range told {
		t.Setenv(name, v)
	}
	err := RunThreads(2, func(_ context.Context, world *Comm) error {
		for _, v := range world.Variables() {
			if v.Value != told[v.Name] || v.Origin != "environment" {
				t.Errorf("%s is %q by %s, want %q by the environment", v.Name, v.Value, v.Origin, told[v.Name])
			}
		}
		return nil
	})
	if err != nil || len(told) != len(takers) {
		t.Errorf("%d variables were tried, there are %d; %v", len(told), len(takers), err)
	}
}

// If nothing sets them the values are the defaults that the table shows.
func TestVariablesDefaults(t *testing.T) {
	err := RunThreads(1, func(_ context.Context, world *Comm) error {
		for _, v := range world.Variables() {
			switch {
			case v.Name == "FITMPI_COPY_MAX":
				v.Default = "16M"
			case v.Name == "FITMPI_WINDOW":
				v.Default = "8M"
			case v.Name == "FITMPI_UNEXPECTED" && (v.Value == "1G" || strings.HasSuffix(v.Value, "M")): // by this machine's memory
				v.Default = v.Value
			case v.Name == "FITMPI_ERRHANDLER":
				v.Default = "return" // of ranks that are functions
			case v.Name == "FITMPI_CONGESTION":
				v.Default = "cubic"
			case v.Name == "FITMPI_SPIN" && v.Value != "":
				v.Default = "200us"
			case v.Name == "FITMPI_MODERATION" && runtime.NumCPU() < 2: // NumCPU: that this process may use
				v.Default = "4ms"
			case v.Name == "FITMPI_MODERATION":
				v.Default = "0s"
			case v.Kind == "duration":
				d, err := time.ParseDuration(v.Default)
				if err != nil {
					break
				}
				v.Default = strings.Replace(d.String(), "µs", "us", 1)
			}
			if v.Value != "" && v.Value != v.Default || v.Origin != "default" && v.Origin != "automatic" {
				t.Errorf("%s is %q by %s, its default is %q", v.Name, v.Value, v.Origin, v.Default)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The launcher's word has the name of the option that it comes from.
func TestVariablesOrigins(t *testing.T) {
	info := boot.Info{Size: 1, LocalSize: 1, Cores: 1, Net: boot.Net{Interface: "eth7", TLS: true}, MetricsRequested: true, MetricsAddr: "127.0.0.1:1",
		Given: map[string]string{"FITMPI_PROGRESS": "--progress", "FITMPI_EAGER_MAX": "-x or -genv"}}
	env := map[string]string{"FITMPI_PROGRESS": "caller", "FITMPI_EAGER_MAX": "64K", "FITMPI_WINDOW": "4M", "FITMPI_IFACE": "eth0", "FITMPI_TLS": "0"}
	set, err := settingsOf(info, func(name string) string { return env[name] })
	want := map[string]string{"FITMPI_PROGRESS": "--progress", "FITMPI_EAGER_MAX": "-x or -genv", "FITMPI_WINDOW": "environment",
		"FITMPI_IFACE": "--iface", "FITMPI_TLS": "--tls", "FITMPI_METRICS": "--rank-metrics"}
	if err != nil || !maps.Equal(set.origins, want) || set.metrics.addr != "127.0.0.1:1" {
		t.Errorf("origins are %v, %v, want %v", set.origins, err, want)
	}
}

// Rank 0 warns if profiles were asked for that no client can get at.
func TestProfilesNowhere(t *testing.T) {
	var out bytes.Buffer
	j := &job{logger: slog.New(slog.NewTextHandler(&out, nil)), set: new(settings)}
	j.warnProfiles(0)
	j.set.metrics.profiles = true
	j.warnProfiles(1)
	if out.Len() > 0 {
		t.Errorf("it warns: %s", &out)
	}
	if j.warnProfiles(0); !strings.Contains(out.String(), "FITMPI_PPROF=1 has no effect") {
		t.Errorf("it says %q", &out)
	}
}

// Rank 0 warns of a variable that it does not know, once, unless fitrun has.
func TestUnknownVariable(t *testing.T) {
	warned.Clear() // of what an earlier run with -count has
	t.Setenv("FITMPI_EAGERMAX", "1")
	var out bytes.Buffer
	j := &job{logger: slog.New(slog.NewTextHandler(&out, nil))}
	for _, info := range []boot.Info{{Rank: 1, Source: "slurm"}, {Source: "fitrun"}} {
		if j.warnUnknown(info); out.Len() > 0 {
			t.Errorf("%+v warns: %s", info, &out)
		}
	}
	j.warnUnknown(boot.Info{Source: "slurm"})
	j.warnUnknown(boot.Info{Source: "slurm"})
	if n := strings.Count(out.String(), "FITMPI_EAGERMAX is not known; did you mean FITMPI_EAGER_MAX?"); n != 1 {
		t.Errorf("it has warned %d times:\n%s", n, &out)
	}
}

// TestVariableGroups: each parameter belongs to a group, and groups come one after the other (MPI
// 4.1, section 15.3.9: categories).
func TestVariableGroups(t *testing.T) {
	err := RunThreads(1, func(_ context.Context, c *Comm) error {
		var groups []string
		in := map[string]string{}
		for _, v := range c.Variables() {
			in[v.Name] = v.Group
			switch n := len(groups); {
			case v.Group == "":
				return fmt.Errorf("%s is in no group", v.Name)
			case n > 0 && groups[n-1] == v.Group:
			case slices.Contains(groups, v.Group):
				return fmt.Errorf("%s stands apart from its group %s", v.Name, v.Group)
			default:
				groups = append(groups, v.Group)
			}
		}
		if len(groups) < 3 || in["FITMPI_EAGER_MAX"] != "messages" || in["FITMPI_EAGER_MAX"] == in["FITMPI_LOG"] {
			return fmt.Errorf("groups %v, FITMPI_EAGER_MAX in %s", groups, in["FITMPI_EAGER_MAX"])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
