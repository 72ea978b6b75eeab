package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// app is one program of the command line, with the options that are its own.
type app struct {
	ranks   int      // 0 if not given
	hosts   string   // value of -H, "" if not given
	dir     string   // of --wdir, as it was given; "" if it was not
	path    string   // of --path
	set     []string // NAME=VALUE
	program []string // with its arguments
}

// splitApps divides a command line at each ":".
func splitApps(args []string) [][]string {
	var all [][]string
	for {
		i := slices.Index(args, ":")
		if i < 0 {
			return append(all, args)
		}
		all = append(all, args[:i])
		args = args[i+1:]
	}
}

// readApps reads a file of --app: each line is what could stand between two colons.
func readApps(name string) ([][]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("--app %s: %w", name, err.(*os.PathError).Err)
	}
	defer f.Close()
	var all [][]string
	sc := bufio.NewScanner(f)
	for line := 1; sc.Scan(); line++ {
		words, err := splitWords(sc.Text())
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, line, err)
		}
		if len(words) > 0 {
			all = append(all, words)
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("--app %s: %w", name, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("--app %s: no program in it; write one per line, for example -n 2 ./prog", name)
	}
	return all, nil
}

// splitWords splits a line as a shell does that knows words, quotes ("..." and '...'), backslashes
// and comments only.
func splitWords(line string) (words []string, err error) {
	var word strings.Builder
	inWord := false
	quote := rune(0)
	escaped := false
	for _, r := range line {
		switch {
		case escaped:
			escaped = false
			word.WriteRune(r)
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == '#' && !inWord:
			return words, nil
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			inWord = true
			word.WriteRune(r)
		}
	}
	if quote != 0 || escaped {
		return nil, errors.New("a quotation that does not end in this line")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

// pairs are options of Hydra's whose value is two words.
var pairs = []string{"genv", "env"}

// joinPairs writes -genv NAME VALUE as -genv=NAME=VALUE, so that every option has one value. It
// looks at options only: isFlag says of a name whether it is an option without value.
func joinPairs(args []string, isFlag func(name string) bool) ([]string, error) {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name := strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-")
		if name == arg || name == "" { // the program, or "--"
			return append(out, args[i:]...), nil
		}
		switch {
		case slices.Contains(pairs, name):
			if i+2 >= len(args) {
				return nil, fmt.Errorf("option %s needs a NAME and a VALUE", dashed(name))
			}
			out = append(out, "-"+name+"="+args[i+1]+"="+args[i+2])
			i += 2
		case name == withFT && i+1 < len(args) && slices.Contains(ftKinds, args[i+1]):
			out = append(out, arg)
			i++
		case strings.Contains(name, "=") || isFlag(name) || i+1 == len(args):
			out = append(out, arg)
		default:
			out = append(out, arg, args[i+1])
			i++
		}
	}
	return out, nil
}
