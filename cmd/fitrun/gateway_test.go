//go:build linux

package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tellTale is a writer that says when a word was written.
type tellTale struct {
	word string
	said chan struct{} // closed when it was
	text strings.Builder
}

func (w *tellTale) Write(p []byte) (int, error) {
	before := strings.Contains(w.text.String(), w.word)
	w.text.Write(p)
	if !before && strings.Contains(w.text.String(), w.word) {
		close(w.said)
	}
	return len(p), nil
}

// TestGatewayRuns: the command serves until it is told to end, and then ends well.
func TestGatewayRuns(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("thirty-two bytes or more of a test"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stderr := &tellTale{word: "domain west listens at 127.0.0.1:", said: make(chan struct{})}
	code := make(chan int)
	go func() {
		code <- gatewayMain(ctx, []string{"--domain", "west", "--listen", "127.0.0.1:0", "--secret-file", secret}, nil, stderr)
	}()
	select {
	case <-stderr.said:
	case c := <-code:
		t.Fatalf("it ended with code %d\n%s", c, stderr.text.String())
	}
	cancel()
	if c := <-code; c != 0 {
		t.Errorf("code %d\n%s", c, stderr.text.String())
	}
}
