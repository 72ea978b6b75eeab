package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/launch"
	"github.com/fitmpi/fitmpi/internal/netif"
)

// What the value of an option must look like. Each function takes the option's name as the user
// writes it, for messages.

// setter takes a value of the option with this name.
type setter func(name, value string) error

// count accepts a number from 1 to limit; what says what it counts, for example "ranks".
func count(field *int, limit int, what string) setter {
	return func(name, value string) error {
		n, err := strconv.Atoi(value)
		switch {
		case err != nil:
			return fmt.Errorf("%s %s: want the number of %s, for example %s 4", name, value, what, name)
		case n < 1:
			return fmt.Errorf("%s %s: want 1 or more %s", name, value, what)
		case n > limit:
			return fmt.Errorf("%s %s: at most %d %s are possible", name, value, limit, what)
		}
		*field = n
		return nil
	}
}

func setRanks(field *int) setter {
	return func(name, value string) error {
		n, err := strconv.Atoi(value)
		switch {
		case err != nil:
			return fmt.Errorf("%s %s: want the number of ranks, for example %s 4", name, value, name)
		case n < 1:
			return fmt.Errorf("%s %s: a job has at least 1 rank", name, value)
		case n > launch.MaxRanks:
			return fmt.Errorf("%s %s: a job has at most %d ranks", name, value, launch.MaxRanks)
		}
		*field = n
		return nil
	}
}

// setPerProcess takes more than the job's ranks too: then one process holds all of them.
func (o *options) setPerProcess(name, value string) error {
	n, err := strconv.Atoi(value)
	switch {
	case err != nil:
		return fmt.Errorf("%s %s: want the number of ranks that one process holds, for example %s 4", name, value, name)
	case n < 1:
		return fmt.Errorf("%s %s: a process holds at least 1 rank", name, value)
	}
	o.perProcess = n
	return nil
}

func duration(field *time.Duration) setter {
	return func(name, value string) error {
		d, err := time.ParseDuration(value)
		if seconds, errF := strconv.ParseFloat(value, 64); err != nil && errF == nil {
			d, err = time.Duration(seconds*float64(time.Second)), nil // a bare number, as timeout(1) takes it
		}
		if err != nil || d <= 0 {
			return fmt.Errorf("%s %s: want a duration above 0, for example 90s, 10m or 1h30m", name, value)
		}
		*field = d
		return nil
	}
}

// span accepts what a variable takes that is a duration, of which 0 turns something off.
func span(field *string) setter {
	return func(name, value string) error {
		d := time.Duration(0)
		err := error(nil)
		if value != "0" {
			err = duration(&d)(name, value)
		}
		if zero, errD := time.ParseDuration(value); errD == nil && zero == 0 {
			err = nil
		}
		if err != nil {
			return fmt.Errorf("%s %s: want a duration, for example 30s or 2m, or 0 to turn it off", name, value)
		}
		*field = d.String()
		return nil
	}
}

// oneOf accepts the values that exist.
func oneOf[S ~string](field *S, values ...S) setter {
	return func(name, value string) error {
		if !slices.Contains(values, S(value)) {
			return fmt.Errorf("%s %s: there is %s", name, value, joined(values))
		}
		*field = S(value)
		return nil
	}
}

func joined[S ~string](values []S) string {
	var b strings.Builder
	for i, v := range values {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(v))
	}
	return b.String()
}

// text accepts anything but nothing.
func text(field *string, example string) setter {
	return func(name, value string) error {
		if value == "" {
			return fmt.Errorf("%s with an empty value; write for example %s %s", name, name, example)
		}
		*field = value
		return nil
	}
}

// words accepts words as splitWords does.
func words(field *[]string) setter {
	return func(name, value string) (err error) {
		if *field, err = splitWords(value); err != nil {
			return fmt.Errorf("%s %s: %w", name, value, err)
		}
		return nil
	}
}

// setRankMetrics leaves ports to launch.Plan, which knows the number of ranks.
func (o *options) setRankMetrics(name, value string) error {
	if !strings.Contains(value, ":") {
		return fmt.Errorf("%s %s: want HOST:PORT, for example 127.0.0.1:9100", name, value)
	}
	o.ownMetrics = value
	return nil
}

// address accepts where to listen: [HOST]:PORT, or unix: and a path.
func address(field *string) setter {
	return func(name, value string) error {
		*field = value
		path, isUnix := strings.CutPrefix(value, "unix:")
		if isUnix && path != "" {
			return nil
		}
		_, port, err := net.SplitHostPort(value)
		if err != nil || isUnix {
			return fmt.Errorf("%s %s: want [HOST]:PORT, for example :9600, or unix:PATH", name, value)
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return fmt.Errorf("%s %s: the port must be a number from 0 to 65535", name, value)
		}
		return nil
	}
}

// setIface checks a choice of interfaces; whether a host has them its ranks find out.
func (o *options) setIface(name, value string) error {
	if err := text(&o.iface, "eth0")(name, value); err != nil {
		return err
	}
	if _, err := netif.ParseChoice(value); err != nil {
		return fmt.Errorf("%s %s: %w", name, value, err)
	}
	return nil
}

// setPorts checks a range of ports.
func (o *options) setPorts(name, value string) error {
	low, high, ok := strings.Cut(value, "-")
	from, errLow := strconv.ParseUint(low, 10, 16)
	to, errHigh := strconv.ParseUint(high, 10, 16)
	if !ok || errLow != nil || errHigh != nil || from == 0 || from > to {
		return fmt.Errorf("%s %s: want FROM-TO, for example %s 20000-20999", name, value, name)
	}
	o.ports = value
	return nil
}

// addGateway checks DOMAIN=HOST:PORT.
func (o *options) addGateway(name, value string) error {
	domain, addr, ok := strings.Cut(value, "=")
	if _, _, err := net.SplitHostPort(addr); !ok || domain == "" || err != nil {
		return fmt.Errorf("%s %s: want DOMAIN=HOST:PORT, for example %s west=gw.example.org:7100", name, value, name)
	}
	o.gateways = append(o.gateways, value)
	return nil
}

// absDir checks the directory that the option name gives.
func absDir(name, dir string) (string, error) {
	st, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return "", fmt.Errorf("%s %s: no such directory", name, dir)
	case err != nil:
		return "", fmt.Errorf("%s %s: %w", name, dir, err.(*os.PathError).Err)
	case !st.IsDir():
		return "", fmt.Errorf("%s %s: not a directory", name, dir)
	}
	return filepath.Abs(dir)
}

// variable accepts NAME=VALUE, or the NAME of a variable that is set here.
func variable(set *[]string) setter {
	return func(name, value string) error {
		key, _, hasValue := strings.Cut(value, "=")
		if key == "" {
			return fmt.Errorf("%s %s: want NAME=VALUE, or the NAME of a variable that is set here", name, value)
		}
		if !hasValue {
			here, ok := os.LookupEnv(key)
			if !ok {
				return fmt.Errorf("%s %s: %s is not set here; write %s %s=VALUE", name, value, key, name, key)
			}
			value += "=" + here
		}
		*set = append(*set, value)
		return nil
	}
}

// variables accepts names of variables that are set here, with commas between them.
func variables(set *[]string) setter {
	one := variable(set)
	return func(name, value string) error {
		for key := range strings.SplitSeq(value, ",") {
			if strings.Contains(key, "=") {
				return fmt.Errorf("%s %s: want names only, with commas between them; -x NAME=VALUE gives a value", name, value)
			}
			if err := one(name, key); err != nil {
				return err
			}
		}
		return nil
	}
}
