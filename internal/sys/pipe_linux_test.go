//go:build !fitmpi_portable

package sys

import (
	"io"
	"os"
	"sync"
	"testing"
	"time"
)

func TestAwaitRead(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("last words"); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	AwaitRead(w, 20*time.Millisecond)
	if d := time.Since(began); d < 20*time.Millisecond {
		t.Errorf("waited %v while nobody read", d)
	}
	var reader sync.WaitGroup
	reader.Go(func() { io.ReadFull(r, make([]byte, 10)) })
	AwaitRead(w, time.Hour) // ends when the reader has read
	reader.Wait()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	AwaitRead(null, time.Hour) // no pipe
}
