package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/params"
)

// configForm is how --print-config prints.
type configForm string

const (
	configText configForm = "text"
	configJSON configForm = "json"
)

// givenOption is an option of the command line, as it was written.
type givenOption struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"` // "" for one without a value
}

// config registers --print-config, which may have a value behind "=".
func (r *registrar) config(form *configForm) {
	const name = "print-config"
	r.fs.BoolFunc(name, "", func(value string) error {
		switch value {
		case "true", "text":
			*form = configText
		case "json":
			*form = configJSON
		default:
			return r.keep(fmt.Errorf("--print-config=%s: there is text, json", value))
		}
		return r.keep(r.early(dashed(name)))
	})
}

// value is one variable as the ranks of a program would have it.
type value struct {
	Name    string `json:"name"`
	Group   string `json:"group"`
	Text    string `json:"text"`
	Kind    string `json:"kind"`
	Allowed string `json:"allowed"`
	Default string `json:"default"`
	Option  string `json:"option,omitempty"`
	Alike   bool   `json:"alike,omitempty"`   // all ranks need the same
	Reader  string `json:"reader"`            // what reads it: rank, start (a rank without fitrun), fitrun
	Value   string `json:"value"`             // "" if none was chosen: Default says what holds
	Origin  string `json:"origin"`            // default, automatic, tuned, environment, or an option
	Problem string `json:"problem,omitempty"` // what is wrong with the value
}

// configuration is all that --print-config prints.
type configuration struct {
	Programs []programConfig `json:"programs"`
	Options  []givenOption   `json:"options"` // of fitrun, as they were given
	Warnings []string        `json:"warnings,omitempty"`
}

type programConfig struct {
	Program   []string `json:"program,omitempty"`
	Variables []value  `json:"variables"`
}

// printConfig prints the configuration with the options o in the environment, and returns the exit
// code.
func printConfig(o options, environ []string, stdout, stderr io.Writer) int {
	c := o.configuration(environ)
	code := 0
	for _, p := range c.Programs {
		for _, v := range p.Variables {
			if v.Problem != "" {
				fmt.Fprintf(launch.Folded(stderr), "fitrun: %s\n", v.Problem)
				code = launch.ExitUsage
			}
		}
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: %s\n", w)
	}
	if o.config == configJSON {
		e := json.NewEncoder(stdout)
		e.SetIndent("", "  ")
		e.Encode(c)
		return code
	}
	c.print(stdout)
	return code
}

// configuration finds all values. Programs that are configured alike are one.
func (o *options) configuration(environ []string) configuration {
	c := configuration{Options: o.given, Warnings: o.unknown(environ)}
	if c.Options == nil {
		c.Options = []givenOption{}
	}
	for _, a := range o.apps {
		p := programConfig{Program: a.program}
		for _, v := range params.All() {
			if v.Reader != params.Inner && v.Reader != params.Shown {
				p.Variables = append(p.Variables, o.value(&a, &v, environ))
			}
		}
		if n := len(c.Programs); n == 0 || !slices.Equal(c.Programs[n-1].Variables, p.Variables) {
			c.Programs = append(c.Programs, p)
		}
	}
	return c
}

// value is v as the ranks of a would have it.
func (o *options) value(a *app, v *params.Variable, environ []string) value {
	x := value{
		Name: v.Name, Group: string(v.Group), Text: v.Text, Kind: string(v.Kind), Allowed: v.Allowed(), Default: v.Default,
		Option: v.Option, Alike: v.Alike, Reader: string(v.Reader), Origin: "default",
	}
	if v.Auto {
		x.Origin = "automatic"
	}
	if found, ok := last(o.tuned, v.Name); ok {
		x.Value, x.Origin = found, "tuned"
	}
	if here, ok := last(environ, v.Name); ok {
		x.Value, x.Origin = here, "environment"
	}
	if v.Reader != params.Fitrun {
		if set, ok := last(slices.Concat(o.set, a.set), v.Name); ok {
			x.Value, x.Origin = set, "-x or -genv"
		}
	}
	if said := o.said(v.Option); said != "" {
		x.Value, x.Origin = said, v.Option
	}
	if x.Value != "" {
		if err := v.Check(x.Value); err != nil {
			x.Problem = err.Error()
		}
	}
	return x
}

// said is what an option of o says that stands for a variable, "" if it was not given.
func (o *options) said(option string) string {
	on := map[bool]string{true: "1"}
	return map[string]string{
		"--progress": o.progress, "--transport": o.transport, "--check": on[o.check], "--rank-metrics": o.ownMetrics,
		"--heartbeat": o.beat, "--heartbeat-timeout": o.silence,
		"--http-auth": o.httpAuth, "--http-open": on[o.httpOpen],
		"--iface": o.iface, "--port-range": o.ports, "--tls": on[o.tls], "--restart-dir": o.restartDir, "--ssh-args": strings.Join(o.sshArgs, " "),
	}[option]
}

// last is the value of a variable in an environment, of which the last counts. One that is empty
// counts as none.
func last(environ []string, name string) (string, bool) {
	for _, e := range slices.Backward(environ) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v, v != ""
		}
	}
	return "", false
}

// unknown warns of variables that look like ours, here or for some program.
func (o *options) unknown(environ []string) []string {
	all := slices.Concat(environ, o.set)
	for _, a := range o.apps {
		all = append(all, a.set...)
	}
	return params.Unknown(all)
}

// warnUnknown warns of them once for the job.
func warnUnknown(o *options, environ []string, stderr io.Writer) {
	for _, w := range o.unknown(environ) {
		fmt.Fprintf(launch.Folded(stderr), "fitrun: %s\n", w)
	}
}

// nameWidth is that of the longest name, so that the columns of all groups are in line.
var nameWidth = func() (n int) {
	for _, v := range params.All() {
		n = max(n, len(v.Name))
	}
	return n
}()

// print prints c in columns.
func (c *configuration) print(out io.Writer) {
	for _, p := range c.Programs {
		if len(c.Programs) > 1 {
			fmt.Fprintf(out, "Program %s\n\n", strings.Join(p.Program, " "))
		}
		fmt.Fprintln(out, "VARIABLE, where its value comes from, and the value")
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		for _, g := range params.Groups() {
			if !slices.ContainsFunc(p.Variables, func(v value) bool { return v.Group == string(g) }) {
				continue // fitrun sets them all
			}
			w.Flush()
			fmt.Fprintln(out, g)
			for _, v := range p.Variables {
				if v.Group == string(g) {
					fmt.Fprintf(w, "  %-*s\t%-12s\t%s\n", nameWidth, v.Name, v.Origin, v.shown())
				}
			}
		}
		w.Flush()
		fmt.Fprintln(out)
	}
	if len(c.Options) == 0 {
		return
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "OPTION, and its value")
	for _, o := range c.Options {
		if o.Value == "" {
			fmt.Fprintf(w, "  %s\n", o.Name)
		} else {
			fmt.Fprintf(w, "  %s\t%s\n", o.Name, o.Value)
		}
	}
	w.Flush()
}

func (v *value) shown() string {
	if v.Value == "" {
		return v.Default
	}
	return v.Value
}
