package main

import (
	"bytes"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	want := csr{size: 2, ptr: []int{0, 2, 4}, col: []int32{0, 1, 0, 1}, val: []float64{4, -1, -1, 3}}
	for _, text := range []string{
		"%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 4\n1 2 -1\n2 1 -1\n2 2 3\n",
		"%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 4\n2 1 -1\n2 2 3\n",
		"%%matrixmarket MATRIX Coordinate Integer Symmetric\n% a comment\n\n2 2 3\n2 2 3\n\n% another\n2 1 -1\n1 1 4",
		"%%MatrixMarket matrix coordinate real symmetric\r\n2 2 3\r\n1 1 4.0e0\r\n2 1 -1\r\n2 2 +3.\r\n",
		"%%MatrixMarket matrix coordinate real symmetric\n2 2 4\n1 1 3\n1 1 1\n2 1 -1\n2 2 3\n", // added up
	} {
		got, err := parseMatrixMarket(strings.NewReader(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v, %v, want %+v", text, got, err, want)
		}
	}
	text := "%%MatrixMarket matrix coordinate pattern general\n3 3 3\n1 1\n3 3\n1 3\n"
	want = csr{size: 3, ptr: []int{0, 2, 2, 3}, col: []int32{0, 2, 2}, val: []float64{1, 1, 1}}
	if got, err := parseMatrixMarket(strings.NewReader(text)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%q is %+v, %v, want %+v", text, got, err, want)
	}
}

func TestParseErrors(t *testing.T) {
	const real = "%%MatrixMarket matrix coordinate real general\n"
	for _, tt := range []struct{ text, want string }{
		{"", "line 1: the file is empty"},
		{"1 1 1\n", "line 1: no Matrix Market header"},
		{"%%MatrixMarket matrix coordinate real\n", "line 1: the header has 4 words"},
		{"%%MatrixMarket matrix array real general\n", "line 1: matrix array: only a sparse one"},
		{"%%MatrixMarket vector coordinate real general\n", "line 1: vector coordinate"},
		{"%%MatrixMarket matrix coordinate complex general\n", "line 1: entries are complex"},
		{"%%MatrixMarket matrix coordinate real hermitian\n", "line 1: the matrix is hermitian"},
		{real, "line 1: the file ends before"},
		{real + "2 2\n", "line 2: 2 numbers where rows"},
		{real + "2 x 2\n", `line 2: "x" is no number of columns`},
		{real + "-2 2 2\n", `line 2: "-2" is no number of rows`},
		{real + "99999999999 2 2\n", `is no number of rows`},
		{real + "2 3 2\n", "line 2: 2 rows and 3 columns"},
		{real + "0 0 0\n", "line 2: the matrix is empty"},
		{real + "2000000000 2000000000 1\n1 1 1\n", "line 2: 1 entries for 2000000000 rows"},
		{real + "% comment\n2 2 2\n1 1 1\n", "line 4: the file ends after 1 of 2 entries"},
		{real + "1 1 1\n1 1 1\n\n1 1 1\n", "line 5: more than the 1 entries"},
		{real + "1 1 1\n1 1\n", "line 3: 2 numbers, an entry has 3"},
		{real + "1 1 1\n0 1 1\n", `line 3: row "0": want a number from 1 to 1`},
		{real + "1 1 1\n1 2 1\n", `line 3: column "2": want a number from 1 to 1`},
		{real + "1 1 1\n1 1 1x\n", `line 3: value "1x": want a finite number`},
		{real + "1 1 1\n1 1 nan\n", `line 3: value "nan": want a finite number`},
		{real + "1 1 1\n1 1 1e999\n", `line 3: value "1e999": want a finite number`},
		{real + "1 1 1\n" + strings.Repeat("1", maxLine+1), "line 3: longer than 65536 bytes"},
		{"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n", `line 3: value "1.5": want an integer`},
		{"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 1\n", "line 3: entry (1, 2) is above the diagonal"},
	} {
		if _, err := parseMatrixMarket(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.80q: error %v, want one with %q", tt.text, err, tt.want)
		}
	}
}

// writeMarket is the inverse of parseMatrixMarket.
func writeMarket(a csr) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%%%%MatrixMarket matrix coordinate real general\n%d %[1]d %d\n", a.size, len(a.val))
	for r := range a.rows() {
		for k := a.ptr[r]; k < a.ptr[r+1]; k++ {
			fmt.Fprintln(&b, r+1, a.col[k]+1, a.val[k])
		}
	}
	return b.Bytes()
}

// What can be read has its entries in place, and is the same when written and read again.
func FuzzMatrixMarket(f *testing.F) {
	for _, name := range []string{"plate12", "tiny", "indefinite", "unsymmetric", "broken"} {
		text, err := os.ReadFile("testdata/" + name + ".mtx")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := parseMatrixMarket(bytes.NewReader(text))
		if err != nil {
			return
		}
		checkShape(t, a)
		if len(a.val) < a.size || hasInf(a) {
			return // equal entries were added up: too few for a file, or too large for one
		}
		again, err := parseMatrixMarket(bytes.NewReader(writeMarket(a)))
		if err != nil || !reflect.DeepEqual(a, again) {
			t.Fatalf("read %+v, then %+v, %v", a, again, err)
		}
	})
}

func hasInf(a csr) bool {
	for _, v := range a.val {
		if v-v != 0 {
			return true
		}
	}
	return false
}

func checkShape(t *testing.T, a csr) {
	t.Helper()
	if a.rows() != a.size || a.ptr[0] != 0 || a.ptr[a.size] != len(a.val) || len(a.col) != len(a.val) {
		t.Fatalf("%d rows of %d, %d columns and %d values, ptr from %d to %d",
			a.rows(), a.size, len(a.col), len(a.val), a.ptr[0], a.ptr[a.size])
	}
	for r := range a.rows() {
		last := int32(-1)
		for _, c := range a.col[a.ptr[r]:a.ptr[r+1]] {
			if c <= last || int(c) >= a.size {
				t.Fatalf("row %d of %d has column %d after %d", r, a.size, c, last)
			}
			last = c
		}
	}
}
