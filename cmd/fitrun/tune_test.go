//go:build linux

package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

// pretended measures as a network would on which asking costs asks microseconds, and messages that
// do not ask waste part of their time; larger buffers gain a part, and so does reading over shared
// memory.
func pretended(asks, waste, gain, read float64) func(context.Context, string, []string, []int) (map[int]float64, error) {
	calls := map[string]int{}
	return func(_ context.Context, transport string, set []string, sizes []int) (map[int]float64, error) {
		which := strings.Join(append(set, transport), " ")
		calls[which]++
		us := map[int]float64{}
		for _, n := range sizes {
			t := 10 + float64(n)/1e3
			switch {
			case slices.Contains(set, "FITMPI_EAGER_MAX=4K"):
				t += asks
			case slices.Contains(set, "FITMPI_EAGER_MAX=1M"):
				t *= 1 + waste
			case slices.Contains(set, "FITMPI_SOCKET_BUFFER=4M"):
				t *= 1 - gain
			case slices.Contains(set, "FITMPI_SHM_COPY=read") && transport == "shm":
				t *= 1 - read
			}
			if us[n] = t; calls[which] == 1+len(set)%2 {
				us[n] *= 1.5 // something disturbs one round of each setting
			}
		}
		return us, nil
	}
}

// McMPI: "eager limit found at installation". The limit is the longest message that gains by not
// asking; buffers are set only if they gain.
func TestTuneFinds(t *testing.T) {
	for _, tt := range []struct {
		asks, waste, gain, read float64
		between                 bool
		want                    string
	}{
		{30, 0, 0, 0, false, "FITMPI_EAGER_MAX=512K"},
		{8, 0.02, 0, 0, true, "FITMPI_EAGER_MAX=128K"},
		{0, 0.1, 0, 0, false, "FITMPI_EAGER_MAX=8K"},
		{8, 0.02, 0.1, 0, true, "FITMPI_EAGER_MAX=128K FITMPI_SOCKET_BUFFER=4M"},
		{8, 0.02, 0.02, 0.02, false, "FITMPI_EAGER_MAX=128K"},
		{8, 0.02, 0.1, 0.3, false, "FITMPI_EAGER_MAX=128K FITMPI_SOCKET_BUFFER=4M FITMPI_SHM_COPY=read"},
		{8, 0.02, 0.02, 0.3, true, "FITMPI_EAGER_MAX=128K"},
	} {
		progress, calls := 0, 30
		if tt.between {
			calls = 21
		}
		tune := tuning{measure: pretended(tt.asks, tt.waste, tt.gain, tt.read), between: tt.between, rounds: 3, say: func(done, all int, _ string) {
			if progress++; done != progress || all != calls {
				t.Errorf("%d of %d after %d measurements", done, all, progress)
			}
		}}
		f, err := tune.find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(f.set, " "); got != tt.want || progress != calls {
			t.Errorf("%+v: found %s after %d measurements", tt, got, progress)
		}
		var out strings.Builder
		f.print(&out)
		for _, want := range []string{"at once, us", "the system's, us", "system, us", "512K", "(256K by default)", "not measured, as two ranks do not show it: FITMPI_COLL"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("want %q in\n%s", want, &out)
			}
		}
	}
	failed := errors.New("no such host")
	tune := tuning{measure: func(context.Context, string, []string, []int) (map[int]float64, error) { return nil, failed }, rounds: 1}
	if _, err := tune.find(t.Context()); !errors.Is(err, failed) {
		t.Errorf("a job that fails: %v", err)
	}
}

// What is written is read again, where the environment does not have the variable.
func TestTunedFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "fitmpi", "tuned")
	environ := []string{"HOME=/nowhere", "XDG_CONFIG_HOME=" + dir}
	if got := tunedPath(environ); got != path {
		t.Fatalf("the file is %s, want %s", got, path)
	}
	for value, want := range map[string]string{"none": "", "/a/file": "/a/file"} {
		if got := tunedPath(append(environ, "FITMPI_TUNED="+value)); got != want {
			t.Errorf("with %s the file is %q", value, got)
		}
	}
	if got := tunedPath([]string{"HOME=/home/a"}); got != "/home/a/.config/fitmpi/tuned" {
		t.Errorf("without XDG_CONFIG_HOME the file is %s", got)
	}
	var said strings.Builder
	if got := tuned(environ, &said); got != nil || said.Len() > 0 {
		t.Errorf("without a file: %v, %s", got, &said)
	}
	set := []string{"FITMPI_EAGER_MAX=64K", "FITMPI_SOCKET_BUFFER=1M", "FITMPI_CONGESTION=system", "FITMPI_SHM_COPY=read"}
	if err := writeTuned(path, "two\nlines", set); err != nil {
		t.Fatal(err)
	}
	if got := tuned(environ, &said); !slices.Equal(got, set) || said.Len() > 0 {
		t.Errorf("read %v, %s", got, &said)
	}
	if got := tuned(append(environ, "FITMPI_EAGER_MAX=1M"), &said); !slices.Equal(got, set[1:]) {
		t.Errorf("beside the environment: %v", got)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("beside the file there is %v, %v", left, err)
	}
	for line, want := range map[string]string{
		"FITMPI_SHM_COPY=fast": `:2: FITMPI_SHM_COPY=fast: `,
		"FITMPI_EAGER_MAX=64Q": path + `:2: FITMPI_EAGER_MAX=64Q: size "64Q"`, "FITMPI_TLS=0": `:2: "FITMPI_TLS=0": want NAME=VALUE of FITMPI_EAGER_MAX`, "what": `:2: "what": want`,
	} {
		said.Reset()
		if err := os.WriteFile(path, []byte("# a comment\n"+line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := tuned(environ, &said); got != nil || !strings.Contains(said.String(), want) {
			t.Errorf("%s: %v, %s", line, got, &said)
		}
	}
	said.Reset()
	if tuned([]string{"FITMPI_TUNED=" + path + ".not"}, &said); !strings.Contains(said.String(), "no such file") {
		t.Errorf("a file that is named and not there: %s", &said)
	}
}

func TestReadTimes(t *testing.T) {
	const head = "test,size,sextile1\n"
	got, err := readTimes(strings.NewReader(head+"pingpong,8,1.5\n"+head+"pingpong,16,2\n"), []int{8, 16})
	if err != nil || !maps.Equal(got, map[int]float64{8: 1.5, 16: 2}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "hello\n", head + "pingpong,8,1.5\n", head + "pingpong,16,0\n", "\"\n"} {
		if _, err := readTimes(strings.NewReader(bad), []int{8, 16}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// One quick run with fitbench and real ranks: it finds a limit, writes it, and a job has it.
func TestTuneReal(t *testing.T) {
	effort.Need(t, effort.Full, "it builds fitbench, and measures")
	dir := t.TempDir()
	path := filepath.Join(dir, "tuned")
	t.Setenv(tunedFile, path)
	bench, err := buildBench(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	var out, said strings.Builder
	o := tuneOptions{bench: bench, rounds: 1}
	if err := o.run(t.Context(), path, &out, &said); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	set, err := readTuned(path)
	if err != nil || len(set) == 0 || !strings.HasPrefix(set[0], "FITMPI_EAGER_MAX=") {
		t.Errorf("found %v, %v\n%s", set, err, &out)
	}
	if want := "10 of 10 measured"; !strings.Contains(said.String(), want) {
		t.Errorf("want %q in\n%s", want, &said)
	}
}
