package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"
)

// tally is what some pieces hold.
type tally struct {
	counts map[string]int
	words  int64
	bytes  int64
}

// count counts the words of pieces.
func count(ctx context.Context, pieces []piece) (tally, error) {
	t := tally{counts: make(map[string]int)}
	for _, p := range pieces {
		if ctx.Err() != nil {
			return t, context.Cause(ctx)
		}
		if err := t.addPiece(p); err != nil {
			return t, fmt.Errorf("wordcount: %w", err)
		}
	}
	return t, nil
}

func (t *tally) addPiece(p piece) error {
	f, err := os.Open(p.File)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(io.NewSectionReader(f, p.From, p.Size-p.From), 256<<10)
	n, err := t.add(r, p)
	t.bytes += n
	if err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	return nil
}

// isSpace reports whether pieces may begin and end at c.
func isSpace(c rune) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// isPart reports whether c is a part of words.
func isPart(c rune) bool { return unicode.IsLetter(c) || unicode.IsMark(c) || unicode.IsNumber(c) }

func isApostrophe(c rune) bool { return c == '\'' || c == '’' }

// add counts the words of p, of which r gives the bytes from p.From on. It returns the number of
// bytes that were p's: from the first white space at or after From (or the start of the file) to
// the first at or after To (or the end).
func (t *tally) add(r *bufio.Reader, p piece) (bytes int64, err error) {
	var w word
	begun := p.From == 0
	for at := p.From; ; {
		c, n, err := r.ReadRune()
		if err == io.EOF {
			t.take(&w)
			return bytes, nil
		}
		if err != nil {
			return bytes, err
		}
		if isSpace(c) {
			begun = true
			if at >= p.To {
				t.take(&w)
				return bytes, nil
			}
		}
		at += int64(n)
		if begun {
			bytes += int64(n)
			if !w.grow(c) {
				t.take(&w)
			}
		} else if at > p.To { // no white space in p: it is all of a neighbour's
			return bytes, nil
		}
	}
}

// take counts the word, if it is one, and empties it.
func (t *tally) take(w *word) {
	if len(w.text) > 0 {
		t.counts[string(w.text)]++
		t.words++
	}
	w.text, w.apostrophe = w.text[:0], false
}

// word is a word that is being read.
type word struct {
	text       []byte
	apostrophe bool // one came after text; it counts if the word goes on
}

// grow adds c to the word if it belongs to it, and reports whether the word may go on.
func (w *word) grow(c rune) bool {
	switch {
	case isPart(c):
		if w.apostrophe {
			w.text, w.apostrophe = append(w.text, '\''), false
		}
		w.text = utf8.AppendRune(w.text, unicode.ToLower(c))
		return true
	case isApostrophe(c) && len(w.text) > 0 && !w.apostrophe:
		w.apostrophe = true
		return true
	default:
		return false
	}
}
