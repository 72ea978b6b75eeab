package mpi

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/engine"
	"github.com/fitmpi/fitmpi/internal/boot"
)

func TestParseSize(t *testing.T) {
	for s, want := range map[string]int{
		"1": 1, "65536": 65536, "64K": 64 << 10, "64k": 64 << 10, "16M": 16 << 20, "16m": 16 << 20, "2G": 2 << 30,
		"70368744177664": 1 << 46, "65536G": 1 << 46,
	} {
		if n, err := parseSize(s); err != nil || n != want {
			t.Errorf("parseSize(%q) = %d, %v, want %d", s, n, err, want)
		}
	}
	for _, s := range []string{
		"", "0", "-1", "K", "0K", "1.5M", "64KB", "1T", "0x10", " 1", "1 ", "1K ", "70368744177665", "65537G", "99999999999999999999", "8E",
		"1\x8b", "1\x0b", "1+",
	} {
		n, err := parseSize(s)
		if err == nil || !strings.Contains(err.Error(), "need a positive number of bytes, such as 65536, 64K or 16M") {
			t.Errorf("parseSize(%q) = %d, %v, want an error that says what is needed", s, n, err)
		}
	}
}

// config is engineConfig with an environment of a few variables.
func config(env map[string]string) (engine.Config, error) {
	info := boot.Info{Rank: 1, Size: 3, LocalSize: 3, Cores: 1, Secret: make([]byte, boot.SecretSize)}
	return engineConfig(info, func(name string) string { return env[name] })
}

func TestEngineConfig(t *testing.T) {
	cfg, err := config(map[string]string{
		"FITMPI_PROGRESS": "caller", "FITMPI_TRANSPORT": "tcp", "FITMPI_SEND_BUFFER": "32M", "FITMPI_SHORT_MAX": "2K",
		"FITMPI_EAGER_MAX": "32768", "FITMPI_WINDOW": "2M", "FITMPI_COPY_MAX": "1M", "FITMPI_SPIN": "70us",
		"FITMPI_SOCKET_BUFFER": "4M", "FITMPI_CONGESTION": "cubic", "FITMPI_LOG": "debug",
	})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Rank != 1 || cfg.Size != 3 || cfg.Progress != engine.Caller || cfg.SendBuffer != 32<<20 || cfg.ShortMax != 2<<10 ||
		cfg.EagerMax != 32<<10 || cfg.Window != 2<<20 || cfg.CopyMax != 1<<20 || cfg.Spin != 70*time.Microsecond ||
		cfg.SocketBuffer != 4<<20 || cfg.Congestion != "cubic" || cfg.Logger == nil {
		t.Errorf("the configuration is %+v", cfg)
	}
}

func TestEngineConfigDefaults(t *testing.T) {
	cfg, err := config(nil)
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Progress != engine.Assist || cfg.Logger == nil || cfg.SendBuffer != 0 {
		t.Errorf("the configuration is %+v", cfg)
	}
	if wantSpin := runtime.NumCPU() >= 3; (cfg.Spin > 0) != wantSpin {
		t.Errorf("spin is %v with %d cores for 3 ranks", cfg.Spin, runtime.NumCPU())
	}
}

// A value that cannot be is an error that names the variable, the value, and what could be there.
func TestEngineConfigErrors(t *testing.T) {
	for _, test := range []struct{ name, value, says string }{
		{"FITMPI_PROGRESS", "turbo", "choose worker, assist or caller"},
		{"FITMPI_TRANSPORT", "carrier-pigeon", "choose auto or tcp"},
		{"FITMPI_SEND_BUFFER", "lots", "need a positive number of bytes"},
		{"FITMPI_SHORT_MAX", "-5", "need a positive number of bytes"},
		{"FITMPI_EAGER_MAX", "0", "need a positive number of bytes"},
		{"FITMPI_WINDOW", "1.5M", "need a positive number of bytes"},
		{"FITMPI_COPY_MAX", "4MB", "need a positive number of bytes"},
		{"FITMPI_SOCKET_BUFFER", "x", "need a positive number of bytes"},
		{"FITMPI_SPIN", "200", "duration"},
		{"FITMPI_SPIN", "-1s", "duration"},
		{"FITMPI_LOG", "loud", "choose debug, info, warn or error"},
	} {
		_, err := config(map[string]string{test.name: test.value})
		if err == nil || !strings.Contains(err.Error(), test.name+"="+test.value) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s=%s: error %v, want one that says %q", test.name, test.value, err, test.says)
		}
	}
}
