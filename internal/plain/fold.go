package plain

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Fold breaks the lines of text that are longer than width, between words: a word that is longer
// stays whole. What follows is indented to where the text of the line begins: behind the first gap
// of two blanks or more, as in a list of options. It is indented by hang more than the line where
// there is no such gap, or where it leaves less than a third of the width. No line is joined to
// another; a width of 0 or less leaves all as it is.
func Fold(text string, width, hang int) string {
	if width <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		column := gap(body)
		if column < 0 || column > width*2/3 {
			column = indentOf(body) + hang
		}
		for utf8.RuneCountInString(body) > width {
			end := breakOf(body, width, column)
			if end < 0 {
				break
			}
			b.WriteString(strings.TrimRight(body[:end], " ") + "\n")
			body = strings.Repeat(" ", column) + strings.TrimLeft(body[end:], " ")
		}
		b.WriteString(body + line[len(strings.TrimSuffix(line, "\n")):])
	}
	return b.String()
}

// breakOf is where a line is to be broken: at the last blank behind column that leaves at most
// width before it, else at the first one; -1 if there is none.
func breakOf(line string, width, column int) int {
	at, begun, runes := -1, false, 0
	for i, r := range line {
		switch {
		case r != ' ':
			begun = begun || runes >= column
		case begun && (runes <= width || at < 0):
			at = i
		}
		if runes >= width && at >= 0 {
			break
		}
		runes++
	}
	if at >= 0 && strings.TrimLeft(line[at:], " ") == "" {
		return -1
	}
	return at
}

// handFolded is the least length of a line that was broken by hand, in text for people that is kept
// in the source.
const handFolded = 85

// Refold is Fold for text that was broken by hand at some hundred columns: it joins the lines of a
// paragraph first.
func Refold(text string, width int) string {
	var lines []string
	length := 0 // of the last line, as it was
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if n := len(lines); n > 0 && length >= handFolded && continues(lines[n-1], line) {
			lines[n-1] += " " + strings.TrimLeft(line, " ")
		} else {
			lines = append(lines, line)
		}
		length = utf8.RuneCountInString(line)
	}
	return Fold(strings.Join(lines, "\n")+"\n", width, 0)
}

// continues reports whether a line stands where the text of the one before it does, and begins
// nothing of its own.
func continues(before, line string) bool {
	column := gap(before)
	if column < 0 {
		column = indentOf(before)
	}
	return strings.TrimSpace(line) != "" && indentOf(line) == column && gap(line) < 0
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

var gapPattern = regexp.MustCompile(`^ *[^ ]+(?: [^ ]+)*  +`)

// gap is the column of the text behind the first gap of two blanks or more in a line, -1 if there
// is none.
func gap(line string) int {
	at := gapPattern.FindStringIndex(line)
	if at == nil || at[1] == len(line) {
		return -1
	}
	return utf8.RuneCountInString(line[:at[1]])
}
