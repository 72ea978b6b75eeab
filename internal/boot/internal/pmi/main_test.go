package pmi

import (
	"bufio"
	"context"
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

// script is a launcher that reads a line, which must be as expected ("" takes any), and answers; it
// hangs up behind an answer without a newline.
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
				return // the client has given up, which is for the test to decide on
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
