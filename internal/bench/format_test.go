package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var example = []Row{
	{"pingpong", "fitmpi", "tcp", "assist", 2, "", 8, "half-rtt", "us", Summary{5000, 4.0625, 4.125, 4.5, 5, 12.5, 190}},
	{"pingpong", "fitmpi", "tcp", "assist", 2, "", 1 << 20, "half-rtt", "us", Summary{300, 90, 92, 95, 99, 1200, 13000}},
}

const exampleCSV = `test,peer,transport,policy,ranks,case,size,measure,unit,n,min,sextile1,sextile2,median,p99,max
pingpong,fitmpi,tcp,assist,2,,8,half-rtt,us,5000,4.0625,4.125,4.5,5,12.5,190
pingpong,fitmpi,tcp,assist,2,,1048576,half-rtt,us,300,90,92,95,99,1200,13000
`

func TestCSV(t *testing.T) {
	var b strings.Builder
	if err := WriteCSV(&b, example); err != nil {
		t.Fatal(err)
	}
	if b.String() != exampleCSV {
		t.Errorf("got\n%s\nwant\n%s", b.String(), exampleCSV)
	}
	wantRows(t, exampleCSV, example)
	wantRows(t, exampleCSV+exampleCSV, slices.Concat(example, example)) // two runs, one after the other
	wantRows(t, "", nil)
}

func wantRows(t *testing.T, text string, want []Row) {
	t.Helper()
	got, err := ReadCSV(strings.NewReader(text))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

func TestReadCSVRefuses(t *testing.T) {
	line := strings.Split(exampleCSV, "\n")[1]
	for _, test := range []struct{ text, err string }{
		{"pingpong,fitmpi\n", "wrong number of fields"},
		{exampleCSV + strings.Replace(line, "assist,2", "assist,two", 1), `line 4: strconv.ParseInt: parsing "two"`},
		{strings.Replace(line, "4.125", "fast", 1), `line 1: strconv.ParseFloat: parsing "fast"`},
		{strings.Replace(line, "190", "NaN", 1), `"NaN" is no measurement`},
		{strings.Replace(line, "190", "+Inf", 1), `"+Inf" is no measurement`},
		{"\"" + line, "extraneous or missing"},
	} {
		if rows, err := ReadCSV(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s\ngave %v, %v, want an error with %q", test.text, rows, err, test.err)
		}
	}
}

// A row survives but for digits beyond the sixth, and the second time whole.
func TestCSVRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.Custom(drawRow)).Draw(t, "rows")
		once := rewrite(t, rows)
		if len(once) != len(rows) {
			t.Fatalf("%d rows became %d", len(rows), len(once))
		}
		for i, r := range once {
			if !slices.Equal(labels(r), labels(rows[i])) || !slices.Equal(figures(r, exact), figures(rows[i], exact)) {
				t.Fatalf("%+v became %+v", rows[i], r)
			}
		}
		if twice := rewrite(t, once); !slices.Equal(once, twice) {
			t.Fatalf("%+v became %+v", once, twice)
		}
	})
}

func drawRow(t *rapid.T) Row {
	text := rapid.StringOf(rapid.RuneFrom([]rune("abc ,\"-é\n")))
	x := rapid.Float64Range(-1e12, 1e12)
	return Row{
		text.Draw(t, "test"), "fitmpi", "tcp", text.Draw(t, "policy"), rapid.IntRange(0, 1<<20).Draw(t, "ranks"),
		text.Draw(t, "case"), rapid.Int64().Draw(t, "size"), text.Draw(t, "measure"), text.Draw(t, "unit"),
		Summary{
			rapid.IntRange(0, 1<<30).Draw(t, "n"), x.Draw(t, "min"), x.Draw(t, "sextile1"), x.Draw(t, "sextile2"),
			x.Draw(t, "median"), x.Draw(t, "p99"), x.Draw(t, "max"),
		},
	}
}

// rewrite writes rows and reads them.
func rewrite(t interface{ Fatal(...any) }, rows []Row) []Row {
	var b bytes.Buffer
	if err := WriteCSV(&b, rows); err != nil {
		t.Fatal(err)
	}
	rows, err := ReadCSV(&b)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func FuzzReadCSV(f *testing.F) {
	f.Add(exampleCSV)
	f.Add("a,b,c,d,1,\"x\"\"y\n\",2,m,u,3,1e-5,-0,.5,1_0,0x1p-2,7\n")
	f.Add("\xff,,,,,\r,,,,,,,,,,")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ReadCSV(strings.NewReader(text))
		if err != nil {
			return
		}
		if once := rewrite(t, rows); !slices.Equal(once, rewrite(t, once)) {
			t.Errorf("%q is read as %+v, which changes when it is written and read", text, rows)
		}
	})
}

func TestText(t *testing.T) {
	two := slices.Concat(example, example)
	two[2].Case, two[3].Case = "late", "late"
	for _, test := range []struct {
		name string
		rows []Row
		want string
	}{
		{"nothing", nil, ""},
		{"sizes differ", example, `
# test pingpong, peer fitmpi, transport tcp, policy assist, ranks 2, measure half-rtt, unit us
     size     n    min  sextile1  sextile2  median   p99    max
        8  5000  4.062     4.125     4.500   5.000  12.5    190
  1048576   300   90.0      92.0      95.0    99.0  1200  13000
`},
		{"cases too", two, `
# test pingpong, peer fitmpi, transport tcp, policy assist, ranks 2, measure half-rtt, unit us
  case     size     n    min  sextile1  sextile2  median   p99    max
              8  5000  4.062     4.125     4.500   5.000  12.5    190
        1048576   300   90.0      92.0      95.0    99.0  1200  13000
  late        8  5000  4.062     4.125     4.500   5.000  12.5    190
  late  1048576   300   90.0      92.0      95.0    99.0  1200  13000
`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			if err := WriteText(&b, test.rows); err != nil {
				t.Fatal(err)
			}
			if want := strings.TrimPrefix(test.want, "\n"); b.String() != want {
				t.Errorf("got\n%s\nwant\n%s", b.String(), want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, example); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{`"test": "pingpong"`, `"case": ""`, `"size": 1048576`, `"sextile1": 4.125`} {
		if !strings.Contains(b.String(), field) {
			t.Errorf("no %s in\n%s", field, b.String())
		}
	}
	var rows []Row
	if err := json.Unmarshal(b.Bytes(), &rows); err != nil || !slices.Equal(rows, example) {
		t.Errorf("read back: %+v, %v", rows, err)
	}
}

// broken is a full disk.
type broken struct{}

var errFull = errors.New("disk full")

func (broken) Write([]byte) (int, error) { return 0, errFull }

func TestWritersReportErrors(t *testing.T) {
	for name, write := range map[string]func() error{
		"CSV":  func() error { return WriteCSV(broken{}, example) },
		"JSON": func() error { return WriteJSON(broken{}, example) },
		"text": func() error { return WriteText(broken{}, example) },
	} {
		if err := write(); !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want %v", name, err, errFull)
		}
	}
}
