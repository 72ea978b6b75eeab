package pmi

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failsafe ends a test that hangs; no test waits for it to pass.
func failsafe(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// script is a launcher that reads a line, which must be as expected ("" takes any), and answers; it hangs up behind an answer without a newline.
type script []struct{ want, answer string }

// play runs the script, and closes the connection at its end.
func play(t *testing.T, s script) net.Conn {
	here, there := net.Pipe()
	var launcher sync.WaitGroup
	launcher.Go(func() {
		defer there.Close()
		lines := bufio.NewReader(there)
		for _, step := range s {
			line, err := lines.ReadString('\n')
			if err != nil {
				return // the client has given up, which is for the test to judge
			}
			if step.want != "" && line != step.want+"\n" {
				t.Errorf("the client says %q, want %q", line, step.want)
			}
			if _, err := io.WriteString(there, step.answer); err != nil || !strings.HasSuffix(step.answer, "\n") {
				return
			}
		}
	})
	t.Cleanup(launcher.Wait)
	t.Cleanup(func() { here.Close() })
	return here
}

// greeting is a beginning as that of Hydra.
var greeting = script{
	{"cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"},
	{"cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n"},
	{"cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_1\n"},
}

// space is a launcher of a job of so many processes, which keeps what they put.
type space struct {
	mu      sync.Mutex
	changed *sync.Cond
	values  map[string]string // guarded by mu
	waiting int               // guarded by mu: in the barrier
	round   int               // guarded by mu: barriers passed
	size    int
}

func newSpace(size int) *space {
	s := &space{values: make(map[string]string), size: size}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// serve answers one process until it hangs up.
func (s *space) serve(conn net.Conn) error {
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil
		}
		if len(line) > 1023 {
			return fmt.Errorf("a request of %d bytes, which Slurm does not read", len(line))
		}
		r, err := consumeLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return err
		}
		if _, err := io.WriteString(conn, s.answer(r)+"\n"); err != nil {
			return nil
		}
	}
}

func (s *space) answer(r reply) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.cmd {
	case "init":
		return "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"
	case "get_maxes":
		return "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024"
	case "get_my_kvsname":
		return "cmd=my_kvsname rc=0 kvsname=5.0"
	case "put":
		s.values[r.fields["key"]] = r.fields["value"]
		return "cmd=put_result rc=0"
	case "get":
		if v, ok := s.values[r.fields["key"]]; ok {
			return "cmd=get_result rc=0 value=" + v
		}
		return "cmd=get_result rc=1"
	case "barrier_in":
		round := s.round
		if s.waiting++; s.waiting == s.size {
			s.waiting, s.round = 0, s.round+1
			s.changed.Broadcast()
		}
		for s.round == round {
			s.changed.Wait()
		}
		return "cmd=barrier_out rc=0"
	case "get_universe_size":
		return "cmd=universe_size rc=0 size=8"
	case "finalize":
		return "cmd=finalize_ack rc=0"
	default:
		return "cmd=" + r.cmd + "_result rc=-1 msg=unknown"
	}
}
