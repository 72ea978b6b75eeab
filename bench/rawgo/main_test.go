//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/internal/bench"
)

// asProgram makes this test binary the program itself, as which its runs start it for their server.
const asProgram = "RAWGO_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// rowsOf runs the program, whose server is a process of its own, and returns its rows.
func rowsOf(t *testing.T, args ...string) []bench.Row {
	t.Helper()
	t.Setenv(asProgram, "1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, complaints bytes.Buffer
	if err := run(ctx, args, &out, &complaints); err != nil {
		t.Fatalf("%v\n%s", err, complaints.String())
	}
	rows, err := bench.ReadCSV(&out)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Every style measures every test, also messages that no buffer of the kernel's holds at once.
func TestEveryStyle(t *testing.T) {
	for _, style := range styleNames() {
		t.Run(style, func(t *testing.T) {
			for _, c := range []struct{ args, want string }{
				{"pingpong -sizes 0,8,8M -iterations 3 -warmup 1", "pingpong  0 half-rtt us 3,pingpong  8 half-rtt us 3,pingpong  8388608 half-rtt us 3"},
				{"bw -sizes 1K,1M -iterations 2 -warmup 0 -window 5", "bw  1024 bandwidth MB/s 2,bw  1048576 bandwidth MB/s 2"},
				{"-sizes 8 pingpong -iterations 2 -congestion reno -sockbuf 16K", "pingpong  8 half-rtt us 2"},
			} {
				var got []string
				for _, r := range rowsOf(t, append(strings.Fields(c.args), "-policy", style)...) {
					got = append(got, fmt.Sprintln(r.Test, r.Case, r.Size, r.Measure, r.Unit, r.N))
					if r.Peer != "raw" || r.Transport != "tcp" || r.Policy != "go-"+style || r.Ranks != 2 || r.Sextile1 <= 0 {
						t.Errorf("row %+v", r)
					}
				}
				if want := strings.Split(strings.ReplaceAll(c.want, ",", "\n,")+"\n", ","); !slices.Equal(got, want) {
					t.Errorf("%s: rows %q, want %q", c.args, got, want)
				}
			}
		})
	}
}

func TestHistogram(t *testing.T) {
	rows := rowsOf(t, "histogram", "-sizes", "64", "-iterations", "20", "-policy", "hold")
	sum := 0.0
	for _, r := range rows[2:] {
		if r.Case != "64" || r.Measure != "share" || r.Unit != "%" {
			t.Errorf("row %+v", r)
		}
		sum += r.Sextile1
	}
	if rows[0].Measure != "half-rtt" || rows[1].Measure != "p999" || sum < 99.9 || sum > 100.1 {
		t.Errorf("rows %+v: shares of %v %%", rows, sum)
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct{ args, err string }{
		{"", "name one test: pingpong, histogram, bw"},
		{"pong", `no test "pong": choose one of pingpong`},
		{"pingpong bw", "name one test"},
		{"pingpong -policy lazy", "choose one of conn, bufio, goroutine"},
		{"pingpong -sizes x", `size "x"`},
		{"pingpong -sockbuf 1,2", "give one size"},
		{"pingpong -iterations -1", "are not negative"},
		{"pingpong -port 70000", "below 65536"},
		{"pingpong -host here", "need an address such as"},
		{"-serve", "-serve needs -host"},
	} {
		if err := run(t.Context(), strings.Fields(c.args), io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("rawgo %s: error %v, want one with %q", c.args, err, c.err)
		}
	}
}

// What a client says is not believed.
func TestReadSeries(t *testing.T) {
	good := series{windows, 10, 64, 16}
	if got, err := readSeries(good.append(nil)); err != nil || got != good {
		t.Errorf("read %+v, %v, want %+v", got, err, good)
	}
	for _, bad := range []series{{7, 1, 1, 1}, {-1, 1, 1, 1}, {bounces, -1, 1, 1}, {bounces, 1 << 40, 1, 1}, {bounces, 1, 1 << 40, 1}, {windows, 1, 1, -1}} {
		if _, err := readSeries(bad.append(nil)); err == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}

// A client that is told to stop stops, though its server never answers, and so does the server.
func TestInterrupt(t *testing.T) {
	for _, style := range []string{"conn", "goroutine", "poll", "wait", "hold"} {
		t.Run(style, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			opt, err := parseOptions([]string{"-serve", "-host", "127.0.0.1", "-port", "0", "-policy", style}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			said, says := io.Pipe()
			served := make(chan error, 1)
			go func() { served <- serve(ctx, opt, says) }()
			there := *opt
			if _, err := fmt.Fscanf(said, portLine, &there.port); err != nil {
				t.Fatal(err)
			}
			w, err := dial(ctx, &there)
			if err != nil {
				t.Fatal(err)
			}
			cancel() // the server waits for a series, or is about to
			if err := <-served; err == nil {
				t.Error("an interrupted server says nothing")
			}
			if err := w.close(); err != nil {
				t.Error(err)
			}
		})
	}
}
