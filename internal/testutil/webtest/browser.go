//go:build linux && !fitmpi_portable

package webtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program is Debian's.
const program = "chromium"

// failsafe ends a test that hangs; no test waits for it to pass.
const failsafe = 90 * time.Second

// Browser is a Chromium that runs until the test ends.
type Browser struct {
	t  testing.TB
	in *os.File // what it is told

	mu     sync.Mutex
	number int                 // of the last command; guarded by mu, as all below
	calls  map[int]chan answer // that are not answered
	pages  map[string]*Page    // by session
	gone   bool                // it says nothing any more
}

// message is what the protocol says in both directions.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

type answer struct {
	result json.RawMessage
	err    error
}

// Start starts a browser, or skips the test where there is none.
func Start(t testing.TB) *Browser {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		t.Skipf("no %s (Debian's package of that name): %v", program, err)
	}
	args := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + t.TempDir(), "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars=false",
		"--font-render-hinting=none", "--lang=en-US",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--no-sandbox") // which Chromium has for other users only
	}
	b := &Browser{t: t, calls: make(map[int]chan answer), pages: make(map[string]*Page)}
	cmd := exec.Command(path, args...)
	cmd.Stderr = new(bytes.Buffer) // so that Wait returns when all its helpers are gone, which have it too
	cmd.WaitDelay = failsafe
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	toRead, in, err := os.Pipe()
	fatal(t, err)
	out, toWrite, err := os.Pipe()
	fatal(t, err)
	cmd.ExtraFiles = []*os.File{toRead, toWrite} // descriptors 3 and 4
	fatal(t, cmd.Start())
	toRead.Close()
	toWrite.Close()
	b.in = in
	var wg sync.WaitGroup
	wg.Go(func() { b.listen(out) })
	t.Cleanup(func() {
		in.Close()
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it has helpers, which write to its directory
		cmd.Wait()
		wg.Wait()
		out.Close()
	})
	return b
}

func fatal(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listen takes what the browser says until it is gone. Messages end with a zero byte.
func (b *Browser) listen(out *os.File) {
	r := bufio.NewReader(out)
	for {
		data, err := r.ReadBytes(0)
		if err != nil {
			break
		}
		b.heard(data[:len(data)-1])
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = true
	for _, c := range b.calls {
		c <- answer{err: fmt.Errorf("%s is gone", program)}
	}
	clear(b.calls)
}

func (b *Browser) heard(data []byte) {
	var m struct {
		message
		Params json.RawMessage `json:"params"`
	}
	if json.Unmarshal(data, &m) != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.ID == 0 {
		if p := b.pages[m.Session]; p != nil {
			p.happenedLocked(m.Method, m.Params)
		}
		return
	}
	a := answer{result: m.Result}
	if m.Error != nil {
		a.err = fmt.Errorf("%s", m.Error)
	}
	if c := b.calls[m.ID]; c != nil {
		delete(b.calls, m.ID)
		c <- a
	}
}

// call has the browser, or a page of it, do something, and decodes the answer into result, unless
// that is nil.
func (b *Browser) call(session, method string, params map[string]any, result any) error {
	b.mu.Lock()
	if b.gone {
		b.mu.Unlock()
		return fmt.Errorf("%s: %s is gone", method, program)
	}
	b.number++
	c := make(chan answer, 1)
	b.calls[b.number] = c
	if params == nil {
		params = map[string]any{}
	}
	data, err := json.Marshal(message{ID: b.number, Session: session, Method: method, Params: params})
	if err == nil {
		_, err = b.in.Write(append(data, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return err
	}
	timer := time.NewTimer(failsafe)
	defer timer.Stop()
	select {
	case a := <-c:
		if a.err != nil {
			return fmt.Errorf("%s: %w", method, a.err)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(a.result, result)
	case <-timer.C:
		return fmt.Errorf("%s: no answer from %s in %v", method, program, failsafe)
	}
}
