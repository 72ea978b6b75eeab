// Command mpi4py judges the C library by mpi4py's own tests: it runs them on Debian's
// python3-mpi4py, which is linked with Open MPI, as it is.
//
//	go run ./suites/mpi4py -tests DIR [-lib DIR] [-fitrun FILE] [-n N]
//
// The directory is test of mpi4py's source, of the version that is installed. The working directory
// is that of the module, and the library is what go run ./build has made. Tests that start
// processes are left out. It prints which tests did not pass, with the reasons of its list, and a
// table; one that has no reason makes the run fail.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reasons are why tests do not pass, by their names.
var reasons = map[string]string{
	"testDistgraphcommAdjacent": "it gives edges of a graph at one end alone, which is erroneous (MPI 4.1, section 8.5.4)",
	"testGetAccumulate":         "it adds MPI_BYTE, which is no number",
}

// python is Debian's, of which mpi4py is a package.
const python = "/usr/bin/python3"

func main() {
	tests := flag.String("tests", "", "`directory` of mpi4py's tests")
	lib := flag.String("lib", "out", "`directory` of the C library")
	fitrun := flag.String("fitrun", "fitrun", "the `program` fitrun")
	ranks := flag.Int("n", 2, "`ranks`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *tests, *lib, *fitrun, *ranks); err != nil {
		fmt.Fprintln(os.Stderr, "mpi4py:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tests, lib, fitrun string, ranks int) error {
	if _, err := os.Stat(filepath.Join(tests, "runtests.py")); err != nil {
		return fmt.Errorf("-tests wants the directory test of mpi4py's source: %w", err)
	}
	lib, err := filepath.Abs(lib)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, fitrun, "-n", strconv.Itoa(ranks), python, "runtests.py", "--no-threads", "-e", "spawn", "-e", "dynproc")
	cmd.Dir = tests
	cmd.Env = append(os.Environ(), "FITMPI_CABI="+lib)
	out, failed := cmd.CombinedOutput() // it fails if a test does
	return report(string(out), ranks, failed)
}

var (
	ranForm    = regexp.MustCompile(`(?m)^Ran (\d+) tests`)
	failedForm = regexp.MustCompile(`(?m)^(?:ERROR|FAIL): (\w+) \(([\w.]+)`)
)

// report prints what came out. All ranks run all tests, and each says what failed.
func report(out string, ranks int, err error) error {
	ran := ranForm.FindStringSubmatch(out)
	if ran == nil {
		return fmt.Errorf("no tests ran: %w\n%s", err, out)
	}
	n, _ := strconv.Atoi(ran[1])
	failed := map[string]string{}
	for _, m := range failedForm.FindAllStringSubmatch(out, -1) {
		failed[strings.TrimSuffix(m[2], "."+m[1])+"."+m[1]] = m[1]
	}
	fmt.Printf("| ranks | tests | passed |\n|---|---|---|\n| %d | %d | %d |\n\n| test | why it does not pass |\n|---|---|\n", ranks, n, n-len(failed))
	unexplained := 0
	for _, name := range slices.Sorted(maps.Keys(failed)) {
		why := reasons[failed[name]]
		if why == "" {
			why = "**not explained yet**"
			unexplained++
		}
		fmt.Printf("| %s | %s |\n", name, why)
	}
	if unexplained > 0 {
		return fmt.Errorf("%d tests did not pass, and there is no reason", unexplained)
	}
	return nil
}
