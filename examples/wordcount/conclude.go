package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// conclude checks the tally and prints it.
func conclude(w io.Writer, o options, sh share, all tally, ranks int, elapsed time.Duration) error {
	fmt.Fprintf(w, "wordcount: %s, %d bytes, in %s for %s\n", plural(sh.files, "file"), sh.bytes, plural(sh.pieces, "piece"), plural(ranks, "rank"))
	if err := all.check(sh); err != nil {
		return err
	}
	all.print(w, o.top)
	fmt.Fprintf(w, "%d words, %d different ones, in %v\n", all.words, len(all.counts), elapsed.Round(100*time.Microsecond))
	if !o.check {
		fmt.Fprintln(w, "check: every byte was read once, and the counts add up (-check counts again by serial code)")
		return nil
	}
	if err := all.checkSerial(o.files); err != nil {
		return err
	}
	fmt.Fprintln(w, "check: serial code counts the same")
	return nil
}

// check compares sums.
func (t tally) check(sh share) error {
	if t.bytes != sh.bytes {
		return fmt.Errorf("wordcount: ranks read %d bytes of %d: did a file change meanwhile?", t.bytes, sh.bytes)
	}
	sum := int64(0)
	for _, n := range t.counts {
		sum += int64(n)
	}
	if sum != t.words {
		return fmt.Errorf("wordcount: the counts add up to %d, ranks saw %d words", sum, t.words)
	}
	return nil
}

// top returns the n most frequent words; of equally frequent ones the first by the alphabet.
func (t tally) top(n int) []string {
	words := slices.SortedFunc(maps.Keys(t.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.counts[b], t.counts[a]), cmp.Compare(a, b))
	})
	return words[:min(n, len(words))]
}

func (t tally) print(w io.Writer, n int) {
	words := t.top(n)
	width := 0
	for _, s := range words {
		width = max(width, utf8.RuneCountInString(s))
	}
	for _, s := range words {
		fmt.Fprintf(w, "  %-*s %8d  %5.2f%%\n", width, s, t.counts[s], 100*float64(t.counts[s])/float64(t.words))
	}
}

var wordPattern = regexp.MustCompile(`[\pL\pM\pN]+(?:['’][\pL\pM\pN]+)*`)

// serialCount adds the words of text to counts, by a regular expression.
func serialCount(counts map[string]int, text []byte) {
	for _, at := range wordPattern.FindAllIndex(text, -1) {
		counts[strings.ToLower(strings.ReplaceAll(string(text[at[0]:at[1]]), "’", "'"))]++
	}
}

// checkSerial counts again, one file after the other.
func (t tally) checkSerial(files []string) error {
	want := make(map[string]int)
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("wordcount: %w", err)
		}
		serialCount(want, text)
	}
	return t.compare(want)
}

// compare names a word that ranks and serial code count differently.
func (t tally) compare(want map[string]int) error {
	if maps.Equal(t.counts, want) {
		return nil
	}
	for _, w := range slices.Sorted(maps.Keys(want)) {
		if t.counts[w] != want[w] {
			return fmt.Errorf("wordcount: ranks count %q %d times, serial code %d times", w, t.counts[w], want[w])
		}
	}
	return fmt.Errorf("wordcount: ranks count %d different words, serial code %d", len(t.counts), len(want))
}

// plural is a number with what it counts.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
