package pmi

import (
	"bufio"
	"bytes"
	"net"
	"testing"
)

// FuzzLauncher: whatever a launcher answers, one line for each request, a process that it has
// started begins, or gets an error, and believes no number that could not be.
func FuzzLauncher(f *testing.F) {
	const begin = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\ncmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\ncmd=my_kvsname kvsname=kvs_1\n"
	const rest = "cmd=universe_size size=4\ncmd=appnum appnum=0\ncmd=put_result rc=0 msg=success\ncmd=barrier_out\ncmd=get_result rc=0 msg=success value=v\ncmd=finalize_ack\n"
	const port = "cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=3\ncmd=set debug=0\n"
	f.Add(false, []byte(begin+rest))
	f.Add(true, []byte(port+begin+rest))
	f.Add(true, []byte("cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=4\ncmd=set debug=0\n"+begin))
	f.Add(false, []byte("cmd=response_to_init pmi_version=2 rc=0\n"))
	f.Add(false, []byte("cmd=response_to_init pmi_version=1 rc=-1 msg=no\n"))
	f.Add(false, []byte(begin+"cmd=universe_size size=-1\ncmd=appnum appnum=-1\ncmd=put_result rc=1 msg=twice\n"))
	f.Add(false, bytes.Repeat([]byte("a"), maxLine+1))
	f.Fuzz(func(t *testing.T, dialled bool, answers []byte) {
		ours, theirs := net.Pipe()
		over := make(chan struct{})
		go func() { // ends when answers do, or the client
			defer close(over)
			defer theirs.Close()
			answer(theirs, dialled, answers)
		}()
		converseAsRank(t, ours, dialled)
		<-over
	})
}

// answer gives a line for each request, four for the first of a process that has dialled.
func answer(conn net.Conn, dialled bool, answers []byte) {
	requests := bufio.NewScanner(conn)
	for n := 0; requests.Scan(); n++ {
		lines := 1
		if n == 0 && dialled {
			lines = linesOfPort
		}
		for range lines {
			line, more, found := bytes.Cut(answers, []byte{'\n'})
			if !found && len(line) == 0 {
				return
			}
			if _, err := conn.Write(append(line[:len(line):len(line)], '\n')); err != nil {
				return
			}
			answers = more
		}
	}
}

// converseAsRank asks for everything that a rank asks for.
func converseAsRank(t *testing.T, conn net.Conn, dialled bool) {
	c, who, err := (*Client)(nil), ID{0, 1}, error(nil)
	if dialled {
		c, who, err = StartPort(conn, "3")
	} else {
		c, err = Start(conn)
	}
	if err != nil {
		return
	}
	defer c.Close()
	if who.Rank < 0 || who.Rank >= who.Size || who.Size > MaxSize || c.MaxValue() < 1 || c.MaxValue() > longestRequest {
		t.Fatalf("%+v, values of %d bytes", who, c.MaxValue())
	}
	ctx := t.Context()
	if n, err := c.UniverseSize(ctx); err != nil || n < 0 || n > MaxSize {
		return
	}
	if n, err := c.AppNum(ctx); err != nil || n < 0 || n > MaxSize {
		return
	}
	if c.Put(ctx, "key", "value") != nil || c.Barrier(ctx) != nil {
		return
	}
	if _, err := c.Get(ctx, "key"); err != nil {
		return
	}
	c.Finalize(ctx)
}
