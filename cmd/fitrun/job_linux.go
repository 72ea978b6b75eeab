package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/hosts"
	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/secure"
	"github.com/fitmpi/fitmpi/internal/sys"
)

// request is what o asks for, on the hosts w, with programs that are found but not built.
func (o *options) request(ctx context.Context, w where, local bool) (launch.Request, error) {
	r := launch.Request{
		Hosts: w.hosts, Place: w.place, ByLoad: w.byLoad,
		PerProcess: o.perProcess, Bind: launch.Binding(o.bind), Env: append(o.tuned[:len(o.tuned):len(o.tuned)], os.Environ()...), Cores: sys.AllowedCores(), CPUs: sys.AllowedCPUs(),
		Progress: o.progress, Transport: o.transport, Check: o.check, Metrics: o.ownMetrics, Timeout: o.timeout, FT: o.ft, Restarts: o.restarts, Checkpoint: o.restartDir, Trace: o.traceMemory(),
		Heartbeat: o.beat, HeartbeatTimeout: o.silence,
		Remote: w.launcher, SSHArgs: o.sshWords(), Preload: o.preload, LaunchTimeout: o.patience,
		HTTPAuth: o.httpAuth, HTTPOpen: o.httpOpen,
		Net: boot.Net{Interface: o.iface, Ports: o.ports, TLS: o.tls},
	}
	if err := o.join(ctx, &r); err != nil {
		return r, err
	}
	for i, a := range o.apps {
		app := launch.App{Args: a.program, Set: append(o.set[:len(o.set):len(o.set)], a.set...), SearchPath: a.path, Ranks: w.counts[i]}
		var err error
		if app.Dir, err = a.directory(local); err != nil {
			return r, err
		}
		if app.Program, err = launch.FindProgramIn(a.program[0], a.path); err != nil {
			return r, err
		}
		if app.Libraries, err = launch.FindCLibrary(app.Program, app.Set); err != nil {
			return r, err
		}
		r.Apps = append(r.Apps, app)
	}
	return r, nil
}

// join puts into r the secret and the gateways of the options.
func (o *options) join(ctx context.Context, r *launch.Request) (err error) {
	if o.secret != "" {
		if r.Secret, err = secure.ReadSecret(o.secret); err != nil {
			return fmt.Errorf("--secret-file: %w", err)
		}
	}
	for _, g := range o.gateways {
		domain, addr, _ := strings.Cut(g, "=")
		gateway, err := launch.ResolveGateway(ctx, domain, addr)
		if err != nil {
			return fmt.Errorf("--gateway %s: %w", g, err)
		}
		r.Domains.Gateways = append(r.Domains.Gateways, gateway)
	}
	r.Domains.Secret = r.Secret
	return r.Domains.Check(r.Hosts)
}

// sshWords is the options for ssh: those of --ssh-args, or of the environment.
func (o *options) sshWords() []string {
	words := o.sshArgs
	if words == nil {
		words = strings.Fields(os.Getenv("FITMPI_SSH_ARGS"))
	}
	return words
}

// directory is the working directory of the ranks of a. One of other hosts is checked there.
func (a *app) directory(local bool) (string, error) {
	switch {
	case a.dir == "":
		return "", nil
	case local:
		return absDir("--wdir", a.dir)
	default:
		return filepath.Abs(a.dir)
	}
}

// buildAll builds the packages among the programs of r, each once, unless a signal comes. The
// directory that it makes for them, if any, is the caller's to remove.
func buildAll(ctx context.Context, signals <-chan os.Signal, r *launch.Request, guard *crew.Guard, stderr io.Writer) (dir string, err error) {
	built := make(map[launch.Program]string)
	for i := range r.Apps {
		prog := &r.Apps[i].Program
		if prog.Package == "" {
			continue
		}
		if dir == "" {
			if dir, err = crew.TempDir(); err != nil {
				return "", err
			}
			guard.Temp(dir)
		}
		key := *prog
		path, ok := built[key]
		if !ok {
			if path, err = build(ctx, signals, *prog, filepath.Join(dir, fmt.Sprint(len(built))), stderr); err != nil {
				return dir, err
			}
			built[key] = path
		}
		prog.Path = path
	}
	return dir, nil
}

// build builds prog into dir unless a signal comes.
func build(ctx context.Context, signals <-chan os.Signal, prog launch.Program, dir string, stderr io.Writer) (string, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel(nil)
	wg.Go(func() {
		select {
		case sig := <-signals:
			cancel(interruptedError{sig.(syscall.Signal)})
		case <-ctx.Done():
		}
	})
	return launch.Build(ctx, prog, dir, stderr)
}

// dryRun says what would run where.
func dryRun(out io.Writer, r launch.Request) {
	rank := 0
	for _, a := range r.Apps {
		for from := 0; from < a.Ranks; {
			to := from + 1
			for to < a.Ranks && hostOf(r, rank+to) == hostOf(r, rank+from) {
				to++
			}
			fmt.Fprintf(out, "%s on %s: %s\n", ranksFrom(rank+from, to-from), hostOf(r, rank+from), commandOf(a))
			from = to
		}
		rank += a.Ranks
	}
}

func hostOf(r launch.Request, rank int) string {
	if r.Hosts == nil {
		return "this machine"
	}
	return host(r.Hosts[r.Place[rank]])
}

func host(h hosts.Host) string {
	s := h.String()
	if h.Port > 0 {
		s += fmt.Sprintf(" (port %d)", h.Port)
	}
	return s
}

func ranksFrom(first, n int) string {
	if n == 1 {
		return fmt.Sprintf("rank %d", first)
	}
	return fmt.Sprintf("ranks %d-%d", first, first+n-1)
}

// commandOf is what the ranks of a are started as, as a shell would take it.
func commandOf(a launch.App) string {
	var b strings.Builder
	if a.Dir != "" {
		fmt.Fprintf(&b, "cd %s; ", quoted(a.Dir))
	}
	for _, v := range a.Set {
		key, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(&b, "%s=%s ", key, quoted(value))
	}
	for i, word := range a.Args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(quoted(word))
	}
	return b.String()
}

// quoted is a word as a shell takes it.
func quoted(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./:=,@%+-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
