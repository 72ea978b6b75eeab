// Package effort says how much of the tests a run is to show. Only tests import it.
//
// There are four levels, each of which contains the one before it:
//
//	go test -short ./...                  Short: what one runs after every edit, a minute and a half
//	go test ./...                         Usual: the whole product at work, five minutes
//	FITMPI_TESTS_LEVEL=full go test ...   Full: all that must hold before a change goes in; .ci/run
//	FITMPI_TESTS_LEVEL=night go test ...  Night: the products of which Full has every pair; .ci/nightly
//
// The times are those of two cores. A test that belongs to a level asks for it:
//
//	effort.Need(t, effort.Full, "it builds fitrun for another architecture")
package effort

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// Env is the variable that asks for more than the usual. Ranks that a test starts inherit it.
const Env = "FITMPI_TESTS_LEVEL"

// Level is how much a run shows. Levels compare by <.
type Level int

// The levels.
const (
	Short Level = iota
	Usual
	Full
	Night
)

func (l Level) String() string { return [...]string{"short", "usual", "full", "night"}[l] }

// Now is the level of this run: Short with the flag -short, whatever Env says. Processes that a
// test starts, which do not parse its flags, go by Env.
func Now() Level {
	if flag.Parsed() && testing.Short() {
		return Short
	}
	return parse(os.Getenv(Env))
}

func parse(value string) Level {
	for l := Short; l <= Night; l++ {
		if l.String() == value {
			return l
		}
	}
	if value != "" {
		panic(Env + "=" + value + ": need usual, full or night")
	}
	return Usual
}

// Need skips the rest of a test in a run below the level. why says what it takes, and ends up in
// the test's output.
func Need(t testing.TB, level Level, why string) {
	t.Helper()
	if Now() < level {
		t.Skipf("%s; %s", why, howTo(level))
	}
}

func howTo(level Level) string {
	if level == Usual {
		return "go test without -short runs it"
	}
	return Env + "=" + level.String() + " runs it"
}

// Share is n at the level Full and above, a fifth of it at Usual and a twentieth at Short: how
// often something is tried.
func Share(n int) int {
	switch level := Now(); {
	case level >= Full:
		return n
	case level == Usual:
		return max(1, n/5)
	}
	return max(1, n/20)
}

// Beside lets n tests that ask for t.Parallel run at once, whatever cores there are: they wait for
// most of their time. A TestMain calls it before it runs the tests. The flag -parallel prevails.
func Beside(n int) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if asked {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err)
	}
}
