package pmi

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot/internal/pmi/pmitest"
)

func TestJob(t *testing.T) {
	const size = 4
	job := pmitest.New(size, 1024)
	var launcher, ranks sync.WaitGroup
	for r := range size {
		here, there := net.Pipe()
		launcher.Go(func() {
			if err := job.Serve(there); err != nil {
				t.Error(err)
			}
		})
		ranks.Go(func() { oneRank(t, here, r, size) })
	}
	ranks.Wait()
	launcher.Wait()
}

// oneRank puts the longest values under the longest keys and gets those of all.
func oneRank(t *testing.T, conn net.Conn, rank, size int) {
	ctx := failsafe(t)
	c, err := Start(conn)
	if err != nil {
		t.Error(err)
		return
	}
	defer c.Close()
	key := func(r int) string { return strings.Repeat("k", 62) + strconv.Itoa(r) }
	value := func(r int) string { return strings.Repeat(strconv.Itoa(r), c.MaxValue()) }
	if err := errors.Join(c.Put(ctx, key(rank), value(rank)), c.Barrier(ctx)); err != nil {
		t.Error(err)
	}
	for r := range size {
		if v, err := c.Get(ctx, key(r)); err != nil || v != value(r) {
			t.Errorf("rank %d got %.20q..., %v from rank %d", rank, v, err, r)
		}
	}
	if n, err := c.UniverseSize(ctx); n != 8 || err != nil {
		t.Errorf("universe of %d, %v", n, err)
	}
	if n, err := c.AppNum(ctx); n != 1 || err != nil {
		t.Errorf("program %d, %v", n, err)
	}
	if err := c.Finalize(ctx); err != nil {
		t.Error(err)
	}
}

func TestStartPort(t *testing.T) {
	port := script{{"cmd=initack pmiid=3", "cmd=initack\ncmd=set size=4\ncmd=set rank=2\ncmd=set debug=0\n"}}
	c, who, err := StartPort(play(t, slices.Concat(port, greeting)), "3")
	if err != nil || who != (ID{Rank: 2, Size: 4}) {
		t.Fatalf("%+v, %v; want rank 2 of 4", who, err)
	}
	c.Close()
}

func TestStartPortRefuses(t *testing.T) {
	for _, tc := range []struct{ id, answer, want string }{
		{"3", "cmd=initack rc=-1\n", `the launcher refuses (rc=-1)`},
		{"3", "cmd=initack\ncmd=set size=4\ncmd=set rank=4\ncmd=set debug=0\n", `the launcher says that this is rank 4 of 4`},
		{"3", "cmd=initack\ncmd=set rank=2\ncmd=set size=4\ncmd=set debug=0\n", `the answer "set" has no size`},
		{"3", "cmd=initack\ncmd=set size=-4\n", `the answer "set" has size=-4: want a number from 0 to 1048576`},
		{"3 cmd=abort", "", `the id "3 cmd=abort" of this process is not a number`},
		{"", "", `the id "" of this process is not a number`},
	} {
		_, _, err := StartPort(play(t, script{{"", tc.answer}}), tc.id)
		if err == nil || err.Error() != "pmi: "+tc.want {
			t.Errorf("%v, want pmi: %s", err, tc.want)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	const maxes = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"
	for _, tc := range []struct{ init, maxes, name, want string }{
		{"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n", "", "", "the launcher refuses (rc=-1)"},
		{"cmd=response_to_init pmi_version=1 rc=-1 msg=go_away\n", "", "", "the launcher refuses: go_away (rc=-1)"},
		{"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n", "", "", `the launcher speaks version "2" of PMI, want 1`},
		{"cmd=response_to_init rc=0\n", "", "", `the launcher speaks version "" of PMI, want 1`},
		{"cmd=maxes\n", "", "", `the launcher answers "maxes", want "response_to_init"`},
		{"HTTP/1.1 400 Bad Request\r\n", "", "", `the line "HTTP/1.1 400 Bad Request\r" has control characters`},
		{"hello\n", "", "", `the word "hello" is not key=value`},
		{"", "", "", "the launcher closed the connection or died"},
		{"cmd=resp", "", "", "the launcher closed the connection or died"},
		{strings.Repeat("x", maxLine+1) + "\n", "", "", "a line longer than 16384 bytes came from the launcher"},
		{"good", "cmd=maxes keylen_max=64 vallen_max=63\n", "", `the answer "maxes" has vallen_max=63: want a number from 64 to 1048576`},
		{"good", "cmd=maxes keylen_max=31 vallen_max=64\n", "", `the answer "maxes" has keylen_max=31: want a number from 32 to 1048576`},
		{"good", "cmd=maxes vallen_max=64\n", "", `the answer "maxes" has no keylen_max`},
		{"good", "cmd=maxes keylen_max=64 vallen_max=1e3\n", "", `the answer "maxes" has vallen_max=1e3: want a number from 64 to 1048576`},
		{"good", maxes, "cmd=my_kvsname\n", "the name of the key-value space has 0 bytes, want 1 to 256"},
		{"good", maxes, "cmd=my_kvsname kvsname=" + strings.Repeat("k", 257) + "\n", "the name of the key-value space has 257 bytes, want 1 to 256"},
	} {
		if tc.init == "good" {
			tc.init = greeting[0].answer
		}
		_, err := Start(play(t, script{{"", tc.init}, {"", tc.maxes}, {"", tc.name}}))
		if err == nil || err.Error() != "pmi: "+tc.want {
			t.Errorf("%v, want pmi: %s", err, tc.want)
		}
	}
}

// A refusal of one request is its error, and no more.
func TestRefusals(t *testing.T) {
	c, err := Start(play(t, slices.Concat(greeting, script{
		{"cmd=get kvsname=kvs_1 key=none", "cmd=get_result rc=-1 msg=key_none_not_found value=unknown\n"},
		{"cmd=put kvsname=kvs_1 key=a value=b", "cmd=put_result rc=-1\n"},
		{"cmd=get_universe_size", "cmd=universe_size size=-1\n"},
		{"cmd=get_appnum", "cmd=appnum appnum=-1\n"},
		{"cmd=barrier_in", "cmd=barrier_out\n"},
	})))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := failsafe(t)
	if _, err := c.Get(ctx, "none"); err == nil || err.Error() != `pmi: getting "none": the launcher refuses: key_none_not_found (rc=-1)` {
		t.Error(err)
	}
	if err := c.Put(ctx, "a", "b"); err == nil || err.Error() != `pmi: putting "a": the launcher refuses (rc=-1)` {
		t.Error(err)
	}
	for _, tc := range []struct{ key, value, want string }{
		{"a b", "c", `pmi: putting "c" as "a b": need words without spaces`},
		{"a", "b\ncmd=abort", `pmi: putting "b\ncmd=abort" as "a": need words without spaces`},
		{"", "c", `pmi: putting "c" as "": need words without spaces`},
		{"a", "", `pmi: putting "" as "a": need words without spaces`},
		{strings.Repeat("k", 64), "c", `pmi: the key "` + strings.Repeat("k", 64) + `" has 64 bytes: at most 63 are allowed`},
		{"a", strings.Repeat("v", c.MaxValue()+1), `pmi: the value of "a" has 904 bytes: at most 903 are allowed`},
	} {
		if err := c.Put(ctx, tc.key, tc.value); err == nil || err.Error() != tc.want {
			t.Errorf("%v, want %s", err, tc.want)
		}
	}
	if n, err := c.UniverseSize(ctx); n != 0 || err != nil {
		t.Errorf("an unknown size is %d, %v; want 0", n, err)
	}
	if n, err := c.AppNum(ctx); n != 0 || err != nil {
		t.Errorf("an unknown program is %d, %v; want 0", n, err)
	}
	if err := c.Barrier(ctx); err != nil {
		t.Error(err)
	}
	<-c.Lost() // the script is at its end
	if err := c.Err(); !errors.Is(err, errLost) {
		t.Errorf("%v, want %v", err, errLost)
	}
	_, universeErr := c.UniverseSize(ctx)
	_, appErr := c.AppNum(ctx)
	for _, tc := range []struct {
		err  error
		want string
	}{
		{c.Barrier(ctx), "pmi: waiting for all processes: the launcher closed the connection or died"},
		{universeErr, "pmi: asking for the size of the universe: the launcher closed the connection or died"},
		{appErr, "pmi: asking for the number of the program: the launcher closed the connection or died"},
		{c.Finalize(ctx), "pmi: finalizing: the launcher closed the connection or died"},
		{c.Abort(1), "pmi: asking for the end of the job: io: read/write on closed pipe"},
	} {
		if tc.err == nil || tc.err.Error() != tc.want {
			t.Errorf("%v, want %s", tc.err, tc.want)
		}
	}
}

// A request that was given up leaves an answer behind, which must not become that of the next
// request.
func TestGivenUp(t *testing.T) {
	here, there := net.Pipe()
	asked := make(chan string, 8)
	var launcher sync.WaitGroup
	launcher.Go(func() {
		defer close(asked)
		defer there.Close()
		lines := bufio.NewReader(there)
		for i := 0; ; i++ {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if i < len(greeting) {
				there.Write([]byte(greeting[i].answer))
			} else {
				asked <- line
			}
		}
	})
	c, err := Start(here)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(failsafe(t))
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := c.Barrier(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want %v", err, context.Canceled)
		}
	})
	<-asked // the barrier
	if err := c.Abort(7); err != nil {
		t.Error(err)
	}
	if line := <-asked; line != "cmd=abort exitcode=7\n" {
		t.Errorf("during a barrier the client says %q", line)
	}
	cancel()
	waiting.Wait()
	there.Write([]byte("cmd=barrier_out\n"))
	if err := c.Barrier(failsafe(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the connection out of use", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := c.Err(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v, want %v", err, os.ErrClosed)
	}
	c.Close()
	launcher.Wait()
}

func TestUnasked(t *testing.T) {
	s := slices.Clone(greeting)
	s[2].answer += "cmd=barrier_out\n"
	c, err := Start(play(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	<-c.Lost()
	if err := c.Err(); err == nil || err.Error() != `the launcher says "barrier_out", which answers no request` {
		t.Error(err)
	}
}
