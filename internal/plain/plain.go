// Package plain makes text that others have written fit to stand in messages of our own. What
// ranks, hosts and users of them say is shown on terminals, in logs and on pages, and must neither
// move a cursor there nor pass for a line of ours.
//
// What cannot be seen is escaped as Go writes it: \x1b, \n, \u202e, and \xff for a byte that is no
// UTF-8. Backslashes stay as they are, so text of printable characters stays as it is, and escaping
// again changes nothing.
//
// Count puts a number and its noun into such messages.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Line is text as one line.
func Line(text string) string { return escape(text, "") }

// indent is before all lines of a message but the first.
const indent = "  "

// Text is text that may have lines, all but the first of which are indented: those that are not yet
// get two blanks. It keeps tabs, and loses newlines at its end.
func Text(text string) string {
	text = strings.TrimRight(text, "\r\n")
	if !strings.Contains(text, "\n") {
		return escape(text, "\t")
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		l = escape(strings.TrimSuffix(l, "\r"), "\t")
		if i > 0 && l != "" && !strings.HasPrefix(l, indent) {
			l = indent + l
		}
		lines[i] = l
	}
	return strings.Join(lines, "\n")
}

// escape escapes what cannot be seen, but for the characters in keep.
func escape(text, keep string) string {
	at := strings.IndexFunc(text, func(r rune) bool { return isHidden(r) && !strings.ContainsRune(keep, r) })
	if at < 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(text[:at])
	for i := at; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case isHidden(r) && !strings.ContainsRune(keep, r):
			b.WriteString(escaped(r))
		default:
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return b.String()
}

// isHidden reports whether a character does something else than to be seen: controls, marks that
// change the direction of text or have no width, separators of lines. utf8.RuneError may stand for
// a byte that is no UTF-8.
func isHidden(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r == utf8.RuneError:
		return true
	default:
		return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
	}
}

func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\r':
		return `\r`
	case r == '\t':
		return `\t`
	case r == utf8.RuneError:
		return string(r) // as it was written
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	default:
		return fmt.Sprintf(`\u%04x`, r)
	}
}
