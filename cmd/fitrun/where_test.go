//go:build linux

package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cluster is a machine called a, with files and an environment.
func cluster(env map[string]string, files map[string]string) machine {
	return machine{
		getenv: func(name string) string { return env[name] },
		open: func(name string) (io.ReadCloser, error) {
			text, ok := files[name]
			if !ok {
				return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
			}
			return io.NopCloser(strings.NewReader(text)), nil
		},
		lookUp: func(name string) (string, error) {
			if env[name] == "" {
				return "", fs.ErrNotExist
			}
			return env[name], nil
		},
		names: func() []string { return []string{"localhost", "a"} },
	}
}

// shown is w as a table has it: the hosts of the ranks, and the ranks of the apps.
func (w where) shown() string {
	var names []string
	for _, h := range w.place {
		names = append(names, w.hosts[h].String())
	}
	s := fmt.Sprintf("%s %v", strings.Join(names, ","), w.counts)
	if w.launcher != "" {
		s += " by " + w.launcher
	}
	return s
}

func TestPlace(t *testing.T) {
	files := map[string]string{"hf": "a slots=2\nb:2\nu@c\n", "pbs": "n1\nn1\nn2\n"}
	slurm := map[string]string{"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2,1"}
	srun := map[string]string{"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2,1", "srun": "/srun"}
	for _, c := range []struct {
		args string
		env  map[string]string
		want string // or the error
	}{
		{"./p", nil, " [1]"},
		{"-n 3 ./p : ./q", nil, " [3 1]"},
		{"-H a:2,b:1 ./p", nil, "a,a,b [3]"},
		{"-n 2 -H a:2,b:1 ./p", nil, "a,a [2]"},
		{"-n 3 -f hf ./p", nil, "a,a,b [3]"},
		{"-n 6 -f hf ./p", nil, "a,a,b,b,u@c,u@c [6]"},
		{"-n 3 -f hf --map-by node ./p", nil, "a,b,u@c [3]"},
		{"-n 3 -f hf -H c,b ./p", nil, "b,b,u@c [3]"},
		{"-n 3 -f hf --nolocal ./p", nil, "b,b,u@c [3]"},
		{"-ppn 1 -f hf ./p", nil, "a,b,u@c [3]"},
		{"-H a:2 ./p : -H b:3 ./q", nil, "a,a,b,b,b [2 3]"},
		{"-n 1 -H a:2,b:2 ./p : -n 3 ./q", nil, "a,a,b,b [1 3]"},
		{"./p", slurm, "n1,n1,n2 [3] by ssh"},
		{"./p", srun, "n1,n1,n2 [3] by srun"},
		{"--launcher ssh ./p", srun, "n1,n1,n2 [3] by ssh"},
		{"-n 2 -H b ./p", srun, "b,b [2]"},
		{"./p", map[string]string{"PBS_NODEFILE": "pbs"}, "n1,n1,n2 [3]"},
		{"-n 5 -H a:2,b:2 ./p", nil, "hosts of -H: 5 ranks, and 4 slots for them on 2 hosts; give more slots or hosts, or --oversubscribe"},
		{"-n 5 -H a:2,b:2 --oversubscribe ./p", nil, "a,a,a,b,b [5]"},
		{"-f none ./p", nil, "--hostfile none: file does not exist"},
		{"-f hf -H d ./p", nil, "-H: host d is not among the 3 of --hostfile hf"},
		{"-H a: ./p", nil, `-H: host "a:": "" slots: want a number from 1 to 1048576`},
		{"--nolocal ./p", nil, "--nolocal: this machine is the only host; name others with -H or --hostfile"},
		{"--nolocal -H A:2 ./p", nil, "--nolocal: this machine is the only host; name others with -H or --hostfile"},
		{"-ppn 2 ./p", nil, "2 ranks on each host, and no hosts; name them with -H or --hostfile, or write -n 2"},
		{"./p", map[string]string{"SLURM_JOB_NODELIST": "n["}, `SLURM_JOB_NODELIST: host "n[": [ without ]; the hosts of this job are named there; -H or --hostfile name others`},
	} {
		o, err := parse(strings.Fields(c.args))
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
			continue
		}
		w, err := o.place(cluster(c.env, files))
		got := w.shown()
		if err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", c.args, got, c.want)
		}
	}
}

func TestParseApps(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "jobs")
	jobs := "# a comment\n-n 2 ./p 'one word' \"two \\\" words\" # more\n\n-n 1 -x A=1 ./q\n"
	if err := os.WriteFile(file, []byte(jobs), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HERE", "yes")
	for _, c := range []struct{ args, want string }{
		{"./p", "[0 ./p]"},
		{"-n 2 ./p -n 3", "[2 ./p -n 3]"},
		{"-n 2 ./p x : -n 1 ./q y", "[2 ./p x] [1 ./q y]"},
		{"-genv A 1 -n 2 -env B 2 ./p", "all A=1 [2 B=2 ./p]"},
		{"-genvlist HERE ./p : -envlist HERE -x C=3 ./q", "all HERE=yes [0 ./p] [0 HERE=yes C=3 ./q]"},
		{"--path /opt -wd /tmp ./p", "[0 path=/opt dir=/tmp ./p]"},
		{"-l -- -n", "[0 -n]"},
		{"--app " + file, `[2 ./p one word two " words] [1 A=1 ./q]`},
	} {
		o, err := parse(strings.Fields(c.args))
		if got := o.shown(); err != nil || got != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.args, got, err, c.want)
		}
	}
}

func (o options) shown() string {
	var parts []string
	for _, v := range o.set {
		parts = append(parts, "all "+v)
	}
	for _, a := range o.apps {
		words := []string{fmt.Sprint(a.ranks)}
		if a.path != "" {
			words = append(words, "path="+a.path)
		}
		if a.dir != "" {
			words = append(words, "dir="+a.dir)
		}
		words = append(append(words, a.set...), a.program...)
		parts = append(parts, "["+strings.Join(words, " ")+"]")
	}
	return strings.Join(parts, " ")
}

func TestParseRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty, quote, badOption := file("empty", "# nothing\n"), file("quote", "-n 1 ./p 'x\n"), file("late", "-n 1 ./p\n--tls ./q\n")
	for _, c := range []struct{ args, want string }{
		{"-n 1 ./p :", "program 2 of 2 is missing; between colons stand options and a program, as in -n 2 ./a : -n 1 ./b"},
		{": ./p", "program 1 of 2 is missing; between colons stand options and a program, as in -n 2 ./a : -n 1 ./b"},
		{"./p : --timeout 3s ./q", "--timeout is an option of the whole job: give it before the first program"},
		{"./p : --tls ./q", "--tls is an option of the whole job: give it before the first program"},
		{"-genv A", "option -genv needs a NAME and a VALUE"},
		{"--app " + filepath.Join(dir, "none"), "--app " + filepath.Join(dir, "none") + ": no such file or directory"},
		{"--app " + empty, "--app " + empty + ": no program in it; write one per line, for example -n 2 ./prog"},
		{"--app " + quote, quote + ":1: a quotation that does not end in this line"},
		{"--app " + badOption, "--tls is an option of the whole job: give it before the first program"},
		{"--app " + empty + " ./p", "--app " + empty + ": its lines name the programs and their options; beside it go options of the whole job only"},
		{"--ranks-per-process 2 --map-by node ./p", "--ranks-per-process with ranks numbered by node: the ranks of a process follow each other; add --rank-by slot"},
		{"--trace-last 3s ./p", "--trace-last and --trace-buffer are of a trace: add --trace FILE"},
		{"--trace-buffer 1M ./p", "--trace-last and --trace-buffer are of a trace: add --trace FILE"},
		{"--map-by core ./p", "--map-by core: there is slot, node, load"},
		{"-ppn 0 ./p", "-ppn 0: want 1 or more ranks on each host"},
		{"--port-range 9-3 ./p", "--port-range 9-3: want FROM-TO, for example --port-range 20000-20999"},
		{"--gateway west ./p", "--gateway west: want DOMAIN=HOST:PORT, for example --gateway west=gw.example.org:7100"},
		{"-envlist A=1 ./p", "-envlist A=1: want names only, with commas between them; -x NAME=VALUE gives a value"},
	} {
		if _, err := parse(strings.Fields(c.args)); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v\nwant %s", c.args, err, c.want)
		}
	}
}
