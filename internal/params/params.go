package params

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind is what a value looks like.
type Kind string

// The kinds.
const (
	Choice   Kind = "choice"   // one of Values
	Size     Kind = "size"     // bytes, see ParseSize
	Duration Kind = "duration" // as time.ParseDuration takes it
	Switch   Kind = "switch"   // 1 or 0
	Number   Kind = "number"   // from 1
	Text     Kind = "text"     // anything; Wanted says what makes sense
)

// Reader is what reads a variable.
type Reader string

// The readers.
const (
	Rank   Reader = "rank"   // when it joins its job
	Start  Reader = "start"  // a rank that no fitrun has started, to find its job
	Fitrun Reader = "fitrun" // the launcher
	Shown  Reader = "shown"  // set by fitrun for programs to read; nothing of ours reads it
	Inner  Reader = "inner"  // set by fitrun for its ranks; not for users
)

// Group is what a variable is about.
type Group string

// The groups, in the order of the documentation.
const (
	Progress    Group = "progress"
	Messages    Group = "messages"
	Memory      Group = "shared memory"
	Network     Group = "network"
	Collectives Group = "collectives"
	Errors      Group = "errors and checks"
	Metrics     Group = "metrics"
	Joining     Group = "joining a job without fitrun"
	Launching   Group = "launching"
	Places      Group = "where a process is"
)

// Groups returns them in order.
func Groups() []Group {
	return []Group{Progress, Messages, Memory, Network, Collectives, Errors, Metrics, Joining, Launching, Places}
}

// Variable is one environment variable.
type Variable struct {
	Name    string
	Group   Group
	Kind    Kind
	Values  []string // of a Choice
	Wanted  string   // what a value is, where the kind does not say it: "host:port"
	Default string   // what holds without the variable, in words or as a value
	Text    string   // what it is, a sentence without its end
	Option  string   // option of fitrun that says the same; "" if there is none
	Alike   bool     // all ranks of a job need the same value
	Auto    bool     // without it the library chooses, by the machine and the job
	Reader  Reader
}

// Find returns the variable of that name.
func Find(name string) (Variable, bool) {
	for _, v := range all {
		if v.Name == name {
			return v, true
		}
	}
	return Variable{}, false
}

// All returns the table, which is the caller's to change.
func All() []Variable { return slices.Clone(all) }

// Of returns the variables that a reader reads.
func Of(by Reader) []Variable {
	return slices.DeleteFunc(All(), func(v Variable) bool { return v.Reader != by })
}

// Allowed says which values v takes, for people.
func (v *Variable) Allowed() string {
	switch {
	case v.Wanted != "":
		return v.Wanted
	case v.Kind == Choice:
		return words(v.Values)
	case v.Kind == Size:
		return "bytes: 65536, 64K, 16M, 2G"
	case v.Kind == Duration:
		return "a duration: 200us, 60s, 10m"
	case v.Kind == Switch:
		return "1 or 0"
	case v.Kind == Number:
		return "a number from 1"
	}
	return "any text"
}

// words joins alternatives: a, b or c.
func words(values []string) string {
	n := len(values)
	if n == 1 {
		return values[0]
	}
	return strings.Join(values[:n-1], ", ") + " or " + values[n-1]
}

// Check says what is wrong with a value as far as its kind tells; what only its reader can see it
// leaves to that.
func (v *Variable) Check(value string) error {
	var err error
	switch v.Kind {
	case Choice:
		if !slices.Contains(v.Values, value) {
			err = fmt.Errorf("choose %s", words(v.Values))
		}
	case Size:
		_, err = ParseSize(value)
	case Duration:
		var d time.Duration
		if d, err = ParseDuration(value); err == nil && d < 0 {
			err = errors.New("a duration less than 0; want for example 30s")
		}
	case Switch:
		if value != "0" && value != "1" {
			err = fmt.Errorf("want %s", v.Allowed())
		}
	case Number:
		_, err = ParseNumber(value)
	case Text:
	}
	if err != nil {
		return fmt.Errorf("%s=%s: %w", v.Name, value, err)
	}
	return nil
}
