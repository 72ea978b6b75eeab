package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/fitmpi/fitmpi/internal/params"
)

// meant asks whether an option that there is was meant by a name: with a value that follows at
// once, as in -n4, or with up to two letters that are wrong, missing or too many. It is empty if
// none is like it.
func meant(name string, fs *flag.FlagSet) string {
	if letter := strings.TrimRight(name, "0123456789"); letter != name && fs.Lookup(letter) != nil {
		return fmt.Sprintf(": did you mean %s %s?", dashed(letter), name[len(letter):])
	}
	best, least := "", min(2, (len(name)-1)/2)+1
	fs.VisitAll(func(f *flag.Flag) {
		if d := params.Distance(name, f.Name); d < least {
			best, least = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", dashed(best))
}
