package params

import (
	"fmt"
	"slices"
	"strings"
)

// prefix is that of all our variables.
const prefix = "FITMPI_"

// foreign begins names that are no configuration: those by which our tests talk to themselves.
const foreign = "FITMPI_TEST"

// Unknown warns of the variables of an environment, as of os.Environ, that look like ours and are
// none: a sentence for each, in the order of their names.
func Unknown(environ []string) []string {
	var names []string
	for _, e := range environ {
		name, _, _ := strings.Cut(e, "=")
		if _, ok := Find(name); !ok && strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, foreign) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = name + " is not known" + hint(name)
	}
	return names
}

// hint is what to do about an unknown name.
func hint(name string) string {
	if near := Nearest(name); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return "; fitrun --print-config lists those that are"
}

// Nearest is the name of the table that the given one is most likely to stand for, "" if none is
// like it.
func Nearest(name string) string {
	best, least := "", 0
	for _, v := range all {
		a, b := strings.TrimPrefix(name, prefix), strings.TrimPrefix(v.Name, prefix)
		d := Distance(a, b)
		if n := min(len(a), len(b)); d <= max(min(n-1, 2), n/3) && (best == "" || d < least) {
			best, least = v.Name, d
		}
	}
	return best
}

// Distance is how many letters must be changed, put in or left out to make b of a (Levenshtein's).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
