//go:build linux

package tests

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/boot"
	"github.com/fitmpi/fitmpi/internal/relay"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
)

const envGate = "FITMPI_TESTS_GATE" // where a gateway of these tests listens

func init() {
	programs["gate"] = gateMain
}

// gateKey is that of any job at a gateway of these tests.
var gateKey = bytes.Repeat([]byte{11}, 32)

// gateMain is a gateway: as little of one as shows that what ranks say to it is enough. It ends
// when it is killed.
func gateMain() {
	l, err := net.Listen("tcp", os.Getenv(envGate))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("ready")
	var mu sync.Mutex
	var seen relay.Seen
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			if err := gatePass(c, &mu, &seen); err != nil {
				fmt.Println("refused:", err)
			}
		}()
	}
}

// gatePass serves one connection.
func gatePass(c net.Conn, mu *sync.Mutex, seen *relay.Seen) error {
	r := bufio.NewReaderSize(c, relay.MaxLine)
	line, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	req, err := relay.ReadRequest(line)
	if err != nil {
		return err
	}
	mu.Lock()
	err = req.Verify(gateKey, time.Now(), seen)
	mu.Unlock()
	if err != nil {
		return err
	}
	for _, target := range req.Targets {
		out, err := net.Dial("tcp", target.String())
		if err != nil {
			continue
		}
		defer out.Close()
		fmt.Println("passing to", target.Addr(), "of", req.Domain)
		go func() {
			io.Copy(c, out)
			c.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(out, r)
		out.(*net.TCPConn).CloseWrite()
		return nil
	}
	return fmt.Errorf("%v do not answer", req.Targets)
}

// gate starts a gateway on a host and returns what it has printed when it is stopped.
func (h *hosts) gate(host int, at string) (stop func() string) {
	h.t.Helper()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(h.t.Context())
	cmd := exec.CommandContext(ctx, "ip", "netns", "exec", h.names[host], self, "gate")
	cmd.Env = append(os.Environ(), envProgram+"=gate", envGate+"="+at)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if line, err := r.ReadString('\n'); line != "ready\n" {
		h.t.Fatalf("the gateway says %q, %v", line, err)
	}
	return func() string {
		cancel()
		text, _ := io.ReadAll(r)
		cmd.Wait() // it was killed
		return string(text)
	}
}

// TestGateways: ranks of two domains, whose addresses mean nothing in the other's, talk through a
// gateway, encrypted from end to end; with a wrong key they do not.
func TestGateways(t *testing.T) {
	t.Parallel()
	effort.Need(t, effort.Usual, "it starts jobs across networks")
	for _, good := range []bool{true, false} {
		t.Run(fmt.Sprintf("the key is right: %v", good), func(t *testing.T) {
			h := newHosts(t)
			var nets [2]boot.Net
			var stop [2]func() string
			key := bytes.Clone(gateKey)
			if !good {
				key[0]++
			}
			for i, domain := range []string{"a", "b"} {
				inside := fmt.Sprintf("10.88.%d.1", i+1)
				h.ip(i, "link", "add", "inside", "type", "veth", "peer", "name", "inner") // a network of this host alone
				h.ip(i, "addr", "add", inside+"/32", "dev", "inside")
				h.ip(i, "link", "set", "inside", "up")
				h.ip(i, "link", "set", "inner", "up")
				there := fmt.Sprintf("10.77.1.%d:4000", 2-i)
				nets[i] = boot.Net{
					Remote: true, Interface: "inside", TLS: true, Domain: domain,
					Gateways: []boot.Gateway{{Domain: "ba"[i : i+1], Addr: there, Key: key}},
				}
				stop[i] = h.gate(i, fmt.Sprintf("10.77.1.%d:4000", i+1))
			}
			run := h.run(hostJob{nets: nets, env: []string{"FITMPI_CONNECT_TIMEOUT=5s"}})
			said := stop[0]() + stop[1]()
			for rank := range 2 {
				if good && (run.err[rank] != nil || run.output[rank] != "") {
					t.Errorf("rank %d: %v\n%s", rank, run.err[rank], run.output[rank])
				}
				if want := "gateway 10.77.1."; !good && !strings.Contains(run.output[rank], want) {
					t.Errorf("rank %d says %q, want %q", rank, run.output[rank], want)
				}
			}
			if good && !strings.Contains(said, "passing to 10.88.") || !good && !strings.Contains(said, "not proved by the key") {
				t.Errorf("the gateways say:\n%s", said)
			}
		})
	}
}
