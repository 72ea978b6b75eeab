package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// maxLine is the longest line that a Matrix Market file may have, in bytes; the format says 1024.
const maxLine = 64 << 10

// marketReader reads a matrix in the Matrix Market coordinate format
// (https://math.nist.gov/MatrixMarket/formats.html).
type marketReader struct {
	lines       *bufio.Scanner
	line        int // number of the present line, from 1
	isPattern   bool
	isInteger   bool
	isSymmetric bool
	size        int // rows and columns
	count       int // entries in the file
}

// parseMatrixMarket reads a whole square matrix. Errors name the line.
func parseMatrixMarket(r io.Reader) (csr, error) {
	m := &marketReader{lines: bufio.NewScanner(r)}
	m.lines.Buffer(make([]byte, 0, 4096), maxLine)
	var es []entry
	err := m.header()
	if err == nil {
		err = m.sizes()
	}
	if err == nil {
		es, err = m.entries()
	}
	if err != nil {
		return csr{}, fmt.Errorf("line %d: %w", max(m.line, 1), err)
	}
	return fromEntries(m.size, es), nil
}

// next returns the fields of the next line that is neither blank nor a comment; io.EOF if there is
// none.
func (m *marketReader) next() ([]string, error) {
	for m.lines.Scan() {
		m.line++
		text := strings.TrimSpace(m.lines.Text())
		if text != "" && text[0] != '%' {
			return strings.Fields(text), nil
		}
	}
	return nil, m.ended()
}

// ended says why there is no next line.
func (m *marketReader) ended() error {
	switch err := m.lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		m.line++
		return fmt.Errorf("longer than %d bytes", maxLine)
	case err != nil:
		return err
	default:
		return io.EOF
	}
}

const headerHint = `a Matrix Market file starts with a line such as "%%MatrixMarket matrix coordinate real symmetric"`

func (m *marketReader) header() error {
	if !m.lines.Scan() {
		if err := m.ended(); err != io.EOF {
			return err
		}
		return errors.New("the file is empty; " + headerHint)
	}
	m.line++
	words := strings.Fields(strings.ToLower(m.lines.Text()))
	if len(words) == 0 || words[0] != "%%matrixmarket" {
		return errors.New("no Matrix Market header; " + headerHint)
	}
	if len(words) != 5 {
		return fmt.Errorf("the header has %d words, not 5; %s", len(words), headerHint)
	}
	return m.kind(words[1], words[2], words[3], words[4])
}

func (m *marketReader) kind(object, format, field, symmetry string) error {
	if object != "matrix" || format != "coordinate" {
		return fmt.Errorf("%s %s: only a sparse one will do, matrix coordinate", object, format)
	}
	switch field {
	case "real":
	case "integer":
		m.isInteger = true
	case "pattern":
		m.isPattern = true
	default:
		return fmt.Errorf("entries are %s: only real, integer and pattern will do", field)
	}
	switch symmetry {
	case "general":
	case "symmetric":
		m.isSymmetric = true
	default:
		return fmt.Errorf("the matrix is %s: only symmetric, or general with symmetric entries, will do", symmetry)
	}
	return nil
}

// sizes reads the line of rows, columns and entries.
func (m *marketReader) sizes() error {
	words, err := m.next()
	if err == io.EOF {
		return errors.New("the file ends before the line of rows, columns and entries")
	}
	if err != nil {
		return err
	}
	if len(words) != 3 {
		return fmt.Errorf("%d numbers where rows, columns and entries should be", len(words))
	}
	var n [3]int
	for i, w := range words {
		if n[i], err = strconv.Atoi(w); err != nil || n[i] < 0 || i < 2 && n[i] > math.MaxInt32 {
			return fmt.Errorf("%q is no number of %s", w, [3]string{"rows", "columns", "entries"}[i])
		}
	}
	m.size, m.count = n[0], n[2]
	switch {
	case n[0] != n[1]:
		return fmt.Errorf("%d rows and %d columns: the matrix must be square", n[0], n[1])
	case m.size == 0:
		return errors.New("the matrix is empty")
	case m.count < m.size:
		// This also bounds the memory that a wrong number of rows can cost.
		return fmt.Errorf("%d entries for %d rows: a positive definite matrix has its whole diagonal", m.count, m.size)
	}
	return nil
}

func (m *marketReader) entries() ([]entry, error) {
	var es []entry // grows with the file, not with what the file says it holds
	for n := 0; ; n++ {
		words, err := m.next()
		switch {
		case err == io.EOF && n < m.count:
			return nil, fmt.Errorf("the file ends after %d of %d entries", n, m.count)
		case err == io.EOF:
			return es, nil
		case err != nil:
			return nil, err
		case n == m.count:
			return nil, fmt.Errorf("more than the %d entries that were announced", m.count)
		}
		e, err := m.entry(words)
		if err != nil {
			return nil, err
		}
		es = append(es, e)
		if m.isSymmetric && e.row != e.col {
			es = append(es, entry{e.col, e.row, e.val})
		}
	}
}

func (m *marketReader) entry(words []string) (e entry, err error) {
	want := 3
	if m.isPattern {
		want = 2
	}
	if len(words) != want {
		return e, fmt.Errorf("%d numbers, an entry has %d", len(words), want)
	}
	if e.row, err = m.index(words[0], "row"); err != nil {
		return e, err
	}
	if e.col, err = m.index(words[1], "column"); err != nil {
		return e, err
	}
	if m.isSymmetric && e.row < e.col {
		return e, fmt.Errorf("entry (%s, %s) is above the diagonal: a symmetric file has the lower triangle only",
			words[0], words[1])
	}
	e.val = 1
	if !m.isPattern {
		e.val, err = m.value(words[2])
	}
	return e, err
}

func (m *marketReader) index(w, what string) (int32, error) {
	i, err := strconv.Atoi(w)
	if err != nil || i < 1 || i > m.size {
		return 0, fmt.Errorf("%s %q: want a number from 1 to %d", what, w, m.size)
	}
	return int32(i - 1), nil
}

func (m *marketReader) value(w string) (float64, error) {
	if m.isInteger {
		if i, err := strconv.ParseInt(w, 10, 64); err == nil {
			return float64(i), nil
		}
		return 0, fmt.Errorf("value %q: want an integer", w)
	}
	v, err := strconv.ParseFloat(w, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, fmt.Errorf("value %q: want a finite number", w)
	}
	return v, nil
}
