package bench

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// header is the first line of the CSV; the C programs of bench/peers print it too.
var header = []string{
	"test", "peer", "transport", "policy", "ranks", "case", "size", "measure", "unit",
	"n", "min", "sextile1", "sextile2", "median", "p99", "max",
}

// WriteCSV writes rows as CSV, after one line of column names.
func WriteCSV(w io.Writer, rows []Row) error {
	c := csv.NewWriter(w)
	if err := c.Write(header); err != nil {
		return err
	}
	for _, r := range rows {
		if err := c.Write(append(labels(r), figures(r, exact)...)); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// ReadCSV reads what WriteCSV wrote. Column names may occur again further down,
// so the outputs of several runs can be read in one.
func ReadCSV(r io.Reader) ([]Row, error) {
	c := csv.NewReader(r)
	c.FieldsPerRecord = len(header)
	var rows []Row
	for {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, err
		}
		if slices.Equal(fields, header) {
			continue
		}
		row, err := parseRow(fields)
		if err != nil {
			line, _ := c.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		rows = append(rows, row)
	}
}

// WriteJSON writes rows as a JSON array.
func WriteJSON(w io.Writer, rows []Row) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(rows)
}

// WriteText writes rows as an aligned table. The columns that are the same in
// every row go into a line above it.
func WriteText(w io.Writer, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	first := labels(rows[0])
	varies := make([]bool, len(first))
	for _, r := range rows {
		for i, s := range labels(r) {
			varies[i] = varies[i] || s != first[i]
		}
	}
	var common, names []string
	for i, name := range header[:len(first)] {
		switch {
		case varies[i]:
			names = append(names, name)
		case first[i] != "":
			common = append(common, name+" "+first[i])
		}
	}
	fmt.Fprintln(w, "#", strings.Join(common, ", "))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, strings.Join(append(names, header[len(first):]...), "\t")+"\t")
	for _, r := range rows {
		var cells []string
		for i, s := range labels(r) {
			if varies[i] {
				cells = append(cells, s)
			}
		}
		fmt.Fprintln(t, strings.Join(append(cells, figures(r, short)...), "\t")+"\t")
	}
	return t.Flush()
}

// labels are the fields of r that say what was measured, in the order of header.
func labels(r Row) []string {
	return []string{
		r.Test, r.Peer, r.Transport, r.Policy, strconv.Itoa(r.Ranks), r.Case,
		strconv.FormatInt(r.Size, 10), r.Measure, r.Unit,
	}
}

func figures(r Row, format func(float64) string) []string {
	cells := []string{strconv.Itoa(r.N)}
	for _, x := range []float64{r.Min, r.Sextile1, r.Sextile2, r.Median, r.P99, r.Max} {
		cells = append(cells, format(x))
	}
	return cells
}

func exact(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

// short writes x with at least three significant digits.
func short(x float64) string {
	switch {
	case x >= 100 || x <= -100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case x >= 10 || x <= -10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 3, 64)
}

func parseRow(f []string) (r Row, err error) {
	r.Test, r.Peer, r.Transport, r.Policy, r.Case, r.Measure, r.Unit = f[0], f[1], f[2], f[3], f[5], f[7], f[8]
	whole := func(s string) int64 {
		n, e := strconv.ParseInt(s, 10, 64)
		err = errors.Join(err, e)
		return n
	}
	r.Ranks, r.Size, r.N = int(whole(f[4])), whole(f[6]), int(whole(f[9]))
	for i, p := range []*float64{&r.Min, &r.Sextile1, &r.Sextile2, &r.Median, &r.P99, &r.Max} {
		x, e := strconv.ParseFloat(f[10+i], 64)
		if e == nil && (math.IsInf(x, 0) || math.IsNaN(x)) {
			e = fmt.Errorf("%q is no measurement", f[10+i])
		}
		err = errors.Join(err, e)
		*p = x
	}
	return r, err
}
