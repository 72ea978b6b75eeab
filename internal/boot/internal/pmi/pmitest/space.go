// Package pmitest is a launcher that speaks PMI version 1, for tests: it keeps what processes put,
// and starts none.
package pmitest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
)

// slurmLine is how many bytes Slurm reads of a request, newline included.
const slurmLine = 1023

// Space is the key-value space of a job. It is safe for concurrent use.
type Space struct {
	size     int // processes
	valueMax int // what get_maxes says
	changed  sync.Cond
	aborts   chan string // has room for one of each process

	mu      sync.Mutex
	values  map[string]string // guarded by mu
	waiting int               // guarded by mu: in the barrier
	round   int               // guarded by mu: barriers passed
}

// New returns the space of a job of size processes, whose values have fewer than valueMax bytes.
func New(size, valueMax int) *Space {
	s := &Space{size: size, valueMax: valueMax, values: make(map[string]string), aborts: make(chan string, size)}
	s.changed.L = &s.mu
	return s
}

// Set changes what was put under key.
func (s *Space) Set(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
}

// Aborts delivers the words of the requests to abort, one of each process at most.
func (s *Space) Aborts() <-chan string { return s.aborts }

// Serve answers one process until it hangs up, and closes conn. The error is a request that no
// launcher would take.
func (s *Space) Serve(conn net.Conn) error {
	defer conn.Close()
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return nil
		}
		if len(line) > slurmLine {
			return fmt.Errorf("a request of %d bytes, which Slurm does not read", len(line))
		}
		fields := make(map[string]string)
		for word := range strings.FieldsSeq(line) {
			key, value, _ := strings.Cut(word, "=")
			fields[key] = value
		}
		answer := s.answer(fields)
		if answer == "" {
			continue
		}
		if _, err := io.WriteString(conn, answer+"\n"); err != nil {
			return nil
		}
	}
}

// answer is the answer to a request, "" if there is none.
func (s *Space) answer(fields map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch cmd := fields["cmd"]; cmd {
	case "init":
		return "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"
	case "get_maxes":
		return fmt.Sprintf("cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=%d", s.valueMax)
	case "get_my_kvsname":
		return "cmd=my_kvsname rc=0 kvsname=5.0"
	case "put":
		if _, twice := s.values[fields["key"]]; twice || len(fields["value"]) >= s.valueMax {
			return "cmd=put_result rc=-1 msg=refused"
		}
		s.values[fields["key"]] = fields["value"]
		return "cmd=put_result rc=0"
	case "get":
		if v, ok := s.values[fields["key"]]; ok {
			return "cmd=get_result rc=0 value=" + v
		}
		return "cmd=get_result rc=1"
	case "barrier_in":
		s.barrierLocked()
		return "cmd=barrier_out rc=0"
	case "get_universe_size":
		return "cmd=universe_size rc=0 size=8"
	case "get_appnum":
		return "cmd=appnum rc=0 appnum=1"
	case "finalize":
		return "cmd=finalize_ack rc=0"
	case "abort":
		s.aborts <- "exitcode=" + fields["exitcode"]
		return ""
	default:
		return "cmd=" + cmd + "_result rc=-1 msg=unknown"
	}
}

// barrierLocked waits until all are here.
func (s *Space) barrierLocked() {
	round := s.round
	if s.waiting++; s.waiting == s.size {
		s.waiting, s.round = 0, s.round+1
		s.changed.Broadcast()
	}
	for s.round == round {
		s.changed.Wait()
	}
}
