package hosts

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
)

// show is hosts in a form that is easy to read in a table.
func show(hosts []Host) string {
	var b strings.Builder
	for i, h := range hosts {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%v", h)
		if h.Port > 0 {
			fmt.Fprintf(&b, " port=%d", h.Port)
		}
		if h.Agent {
			b.WriteString(" agent")
		}
		if h.Domain != "" {
			fmt.Fprintf(&b, " domain=%s", h.Domain)
		}
		fmt.Fprintf(&b, "/%d", h.Slots)
		if h.Max > 0 {
			fmt.Fprintf(&b, "-%d", h.Max)
		}
	}
	return b.String()
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"a", "a/0"},
		{"a:2,b:2", "a/2 b/2"},
		{"a,b, c:3", "a/0 b/0 c/3"},
		{"a,a,a", "a/3"},
		{"a:2,a", "a/3"},
		{"a,a:2", "a/2"}, // the first says nothing
		{"alice@a:4", "alice@a/4"},
		{"10.0.0.1:2,10.0.0.2", "10.0.0.1/2 10.0.0.2/0"},
		{"::1,[fe80::2]:4,[::3]", "::1/0 fe80::2/4 ::3/0"},
		{"n[01-03,7]:2,login", "n01/2 n02/2 n03/2 n7/2 login/0"},
		{"r[1-2]n[1-2]", "r1n1/0 r1n2/0 r2n1/0 r2n2/0"},
	} {
		got, err := Parse(c.list)
		if err != nil || show(got) != c.want {
			t.Errorf("Parse(%q) = %s, %v; want %s", c.list, show(got), err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"", `"": a host without a name between its commas; write for example a:2,b:2`},
		{"a,,b", `"a,,b": a host without a name between its commas; write for example a:2,b:2`},
		{"a:0", `host "a:0": "0" slots: want a number from 1 to 1048576`},
		{"a:x", `host "a:x": "x" slots: want a number from 1 to 1048576`},
		{"@a", `host "@a": no user before the @`},
		{":3", `host "": no name; write for example node1:4`},
		{"-oProxyCommand=x", `host "-oProxyCommand=x": "-oProxyCommand=x" begins with -`},
		{"-x@a", `host "-x@a": "-x" begins with -`},
		{"a;b", `host "a;b": ";" in a name; names consist of letters, digits, and . _ - : %`},
		{"a b", `host "a b": " " in a name; names consist of letters, digits, and . _ - : %`},
		{"n[1-", `host "n[1-": [ without ]`},
		{"u@a,w@a", `host a is named twice, with different users, ports, agents or domains`},
	} {
		_, err := Parse(c.list)
		if err == nil || err.Error() != c.want {
			t.Errorf("Parse(%q): %v\nwant %s", c.list, err, c.want)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"n", "n"},
		{"n[1-3]", "n1 n2 n3"},
		{"n[098-101]-ib", "n098-ib n099-ib n100-ib n101-ib"},
		{"[1,2]x[3,4]", "1x3 1x4 2x3 2x4"},
		{"fe80::1%eth0", "fe80::1%eth0"},
	} {
		got, err := Expand(c.name)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("Expand(%q) = %q, %v; want %s", c.name, got, err, c.want)
		}
	}
	for _, c := range []struct{ name, want string }{
		{"n[1-3", `host "n[1-3": [ without ]`},
		{"n]", `host "n]": ] without [`},
		{"n[]", `host "n[]": "" in brackets: want numbers and ranges, for example [1-3,7]`},
		{"n[a-b]", `host "n[a-b]": "a-b" in brackets: want numbers and ranges, for example [1-3,7]`},
		{"n[3-1]", `host "n[3-1]": "3-1" in brackets: the range ends before it begins`},
		{"n[1-99999999]", `host "n[1-99999999]": "1-99999999" in brackets: more than 65536 hosts`},
		{"n[1-1000][1-1000]", `host "n[1-1000][1-1000]": more than 65536 hosts`},
	} {
		if _, err := Expand(c.name); err == nil || err.Error() != c.want {
			t.Errorf("Expand(%q): %v\nwant %s", c.name, err, c.want)
		}
	}
}

func TestReadFile(t *testing.T) {
	const text = `
# both forms
node1 slots=4 max_slots=8     # Open MPI
node2:4 binding=user:0,1      # Hydra
  alice@node3 port=2222 domain=west

node4 slots = 2 max-slots = 3
node5 agent=7000 count=2
node6 agent user=bob
node7
node7
node8 max_slots=3
`
	const want = "node1/4-8 node2/4 alice@node3 port=2222 domain=west/0 node4/2-3 node5 port=7000 agent/2 bob@node6 agent/0 node7/2 node8/3-3"
	got, err := ReadFile("hosts", strings.NewReader(text))
	if err != nil || show(got) != want {
		t.Errorf("%s, %v\nwant %s", show(got), err, want)
	}
}

func TestReadFileRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f: no host in it; write one per line, for example node1 slots=4"},
		{"# nothing\n\n", "f: no host in it; write one per line, for example node1 slots=4"},
		{"a\nb 4\n", `f:2: "4": want KEY=VALUE, for example slots=4`},
		{"a slots=4 colour=red", `f:1: "colour=red": unknown key; there are slots, max_slots, port, user, domain and agent`},
		{"a slots=-1", `f:1: "slots=-1": "-1" slots: want a number from 1 to 1048576`},
		{"a port=70000", `f:1: "port=70000": port "70000": want a number from 1 to 65535`},
		{"a slots=4 max_slots=2", `f:1: host a: max_slots=2 is less than its 4 slots`},
		{"a user=-l", `f:1: host "-l@a": "-l" begins with -`},
		{"a slots", `f:1: "slots": want KEY=VALUE, for example slots=4`},
		{strings.Repeat("a", 1<<17), "f: a line of more than 65536 bytes; is it a host file?"},
	} {
		if _, err := ReadFile("f", strings.NewReader(c.text)); err == nil || err.Error() != c.want {
			t.Errorf("%.40q: %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestAllocated(t *testing.T) {
	files := map[string]string{"/pbs": "n1\nn1\nn2\n"}
	open := func(name string) (io.ReadCloser, error) {
		text, ok := files[name]
		if !ok {
			return nil, fmt.Errorf("open %s: no such file", name)
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}
	for _, c := range []struct {
		env  map[string]string
		want string // of hosts, or the error
	}{
		{nil, ""},
		{map[string]string{"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_TASKS_PER_NODE": "4(x2),1", "SLURM_JOB_CPUS_PER_NODE": "8(x3)"}, "Slurm: n1/4 n2/4 n3/1"},
		{map[string]string{"SLURM_NODELIST": "n1,n2", "SLURM_JOB_CPUS_PER_NODE": "8(x2)"}, "Slurm: n1/8 n2/8"},
		{map[string]string{"SLURM_JOB_NODELIST": "n1"}, "Slurm: n1/0"},
		{map[string]string{"PBS_NODEFILE": "/pbs"}, "PBS: n1/2 n2/1"},
		{map[string]string{"PBS_NODEFILE": "/none"}, "PBS_NODEFILE=/none: open /none: no such file"},
		{map[string]string{"SLURM_JOB_NODELIST": "n[1-"}, `SLURM_JOB_NODELIST: host "n[1-": [ without ]`},
		{map[string]string{"SLURM_JOB_NODELIST": "n1", "SLURM_TASKS_PER_NODE": "2(x2)"}, "SLURM_TASKS_PER_NODE=2(x2): counts for more than the 1 nodes of the list"},
		{map[string]string{"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_TASKS_PER_NODE": "2(x2)"}, "SLURM_TASKS_PER_NODE=2(x2): counts for 2 nodes, and the list has 3"},
		{map[string]string{"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_TASKS_PER_NODE": "2(x3"}, `SLURM_TASKS_PER_NODE=2(x3: "2(x3": want COUNT or COUNT(xTIMES)`},
		{map[string]string{"SLURM_JOB_NODELIST": "n[1-3]", "SLURM_JOB_CPUS_PER_NODE": "2(xthree)"}, `SLURM_JOB_CPUS_PER_NODE=2(xthree): "2(xthree)": want COUNT or COUNT(xTIMES)`},
		{map[string]string{"SLURM_JOB_NODELIST": "n1", "SLURM_TASKS_PER_NODE": "2(y)"}, `SLURM_TASKS_PER_NODE=2(y): "2(y)" slots: want a number from 1 to 1048576`},
	} {
		a, err := Allocated(func(name string) string { return c.env[name] }, open)
		got := ""
		switch {
		case err != nil:
			got = err.Error()
		case a != nil:
			got = a.Manager + ": " + show(a.Hosts)
		}
		if got != c.want {
			t.Errorf("%v: %s\nwant %s", c.env, got, c.want)
		}
	}
}

// FuzzReadFile: no file panics, and what is read reads the same when it is written again.
func FuzzReadFile(f *testing.F) {
	f.Add("a slots=4\nb:2 port=3\nu@n[1-3] # x\n")
	f.Add("[::1]:3\nagent agent\n")
	f.Fuzz(func(t *testing.T, text string) {
		hosts, err := ReadFile("f", strings.NewReader(text))
		if err != nil {
			return
		}
		var b strings.Builder
		for _, h := range hosts {
			b.WriteString(bracketed(h.Name))
			for key, value := range map[string]string{"user": h.User, "domain": h.Domain} {
				if value != "" {
					fmt.Fprintf(&b, " %s=%s", key, value)
				}
			}
			for key, n := range map[string]int{"slots": h.Slots, "max_slots": h.Max, "port": h.Port} {
				if n > 0 {
					fmt.Fprintf(&b, " %s=%d", key, n)
				}
			}
			if h.Agent {
				b.WriteString(" agent")
				if h.Port > 0 {
					fmt.Fprintf(&b, "=%d", h.Port)
				}
			}
			b.WriteByte('\n')
		}
		again, err := ReadFile("f", strings.NewReader(b.String()))
		if err != nil || !reflect.DeepEqual(again, hosts) {
			t.Fatalf("%+v was written as %q and read as %+v, %v", hosts, b.String(), again, err)
		}
	})
}

func bracketed(name string) string {
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}
