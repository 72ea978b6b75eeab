package plain

import (
	"strconv"
	"strings"
)

// Count is a number with what it counts, in the right number of English grammar: "1 rank", "4
// ranks", "2 processes". The noun is given in the singular and is one whose plural is regular.
func Count(n int, noun string) string { return strconv.Itoa(n) + " " + Noun(n, noun) }

// Noun is a noun in the form that stands beside n of it, where the number itself is said elsewhere:
// "bound to cores 0-1".
func Noun(n int, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "sh"), strings.HasSuffix(noun, "x"):
		return noun + "es"
	default:
		return noun + "s"
	}
}
