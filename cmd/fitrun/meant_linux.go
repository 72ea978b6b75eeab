package main

import (
	"flag"
	"fmt"
	"strings"
)

// meant asks whether an option that there is was meant by a name: with a value that follows at once, as in -n4, or with up to two letters
// that are wrong, missing or too many. It is empty if none is like it.
func meant(name string, fs *flag.FlagSet) string {
	if letter := strings.TrimRight(name, "0123456789"); letter != name && fs.Lookup(letter) != nil {
		return fmt.Sprintf(": did you mean %s %s?", dashed(letter), name[len(letter):])
	}
	best, least := "", min(2, (len(name)-1)/2)+1
	fs.VisitAll(func(f *flag.Flag) {
		if d := distance(name, f.Name); d < least {
			best, least = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", dashed(best))
}

// distance is how many bytes must be changed, put in or taken out to make b of a.
func distance(a, b string) int {
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
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
