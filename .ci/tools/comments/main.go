// Command comments says which comments of Go files are wider than a line may be, or speak of
// goroutines, processes and ranks as of persons, and fails if there are any:
//
//	go build -C .ci/tools -o /tmp/comments ./comments
//	find . -name '*.go' -not -path '*/testdata/*' -exec /tmp/comments {} +
//
// What an example prints, preformatted text, directives and words that no space breaks may be as
// wide as they are, and so may comments at the end of a line of code.
package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"os"
	"regexp"
	"strings"
)

// maxColumns is how wide a line of a comment may be; a tab counts tabColumns.
const (
	maxColumns = 100
	tabColumns = 4
)

// persons are words for human beings. A goroutine, process or rank is a holder, caller, worker,
// sender, receiver or peer. Names of files, with hyphens, may have them.
var persons = regexp.MustCompile(`(?i)(?:^|[^-\w])(who|whoever|whom|somebody|nobody|everybody|anybody)(?:$|[^-\w])`)

func main() {
	n, err := run(os.Args[1:], os.Stdout)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "comments:", err)
		os.Exit(2)
	case n > 0:
		os.Exit(1)
	}
}

// run checks files, writes a line to w for each fault, and returns how many there are.
func run(files []string, w io.Writer) (faults int, err error) {
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			return faults, err
		}
		for _, f := range check(src) {
			fmt.Fprintf(w, "%s:%d: %s\n", file, f.line, f.what)
			faults++
		}
	}
	return faults, nil
}

// fault is what is wrong with a line.
type fault struct {
	line int
	what string
}

// check returns the faults of the comments of a Go file.
func check(src []byte) (faults []fault) {
	lines := strings.Split(string(src), "\n")
	var s scanner.Scanner
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	s.Init(file, src, nil, scanner.ScanComments)
	output, last := false, 0 // in a comment that says what an example prints; the line of the last one
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return faults
		}
		if tok != token.COMMENT {
			continue
		}
		first := file.Line(pos)
		output = output && first == last+1 || isOutput(text)
		last = first + strings.Count(text, "\n")
		if output {
			continue
		}
		for i, part := range strings.Split(text, "\n") {
			n := first + i
			if word := persons.FindStringSubmatch(part); word != nil {
				faults = append(faults, fault{n, fmt.Sprintf("%q is for human beings: say which goroutine, process or part it is", word[1])})
			}
			if c := columns(lines[n-1]); c > maxColumns && isAlone(lines[n-1], part) && breaks(lines[n-1]) {
				faults = append(faults, fault{n, fmt.Sprintf("a comment of %d columns: wrap it at %d", c, maxColumns)})
			}
		}
	}
}

// isOutput reports whether a comment begins what an example prints.
func isOutput(text string) bool {
	text = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(text, "//")))
	return strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:")
}

// isAlone reports whether a part of a comment is all that its line has.
func isAlone(line, part string) bool { return strings.TrimSpace(line) == strings.TrimSpace(part) }

// breaks reports whether a line that is too wide is text that has a space at which it could be
// broken. Directives have none after their slashes, preformatted text has a tab.
func breaks(line string) bool {
	text := strings.TrimPrefix(strings.TrimSpace(line), "//")
	return !strings.HasPrefix(text, "go:") && !strings.HasPrefix(text, "\t") && strings.Contains(strings.TrimSpace(text), " ")
}

func columns(line string) int {
	n := 0
	for _, r := range line {
		if n++; r == '\t' {
			n += tabColumns - 1
		}
	}
	return n
}
