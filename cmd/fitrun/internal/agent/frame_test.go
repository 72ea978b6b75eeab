//go:build linux

package agent

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"testing"

	"go.uber.org/goleak"

	"github.com/fitmpi/fitmpi/cmd/fitrun/internal/crew"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func bytesOf(frames ...frame) []byte {
	var b []byte
	for _, f := range frames {
		b = appendFrame(b, f)
	}
	return b
}

func TestFrames(t *testing.T) {
	sent := []frame{
		pack(kindStarted, 3, procPID{1, 4711}), {kind: kindPing}, packOutput(1<<32-2, 7, crew.Stderr, []byte("oh\n")),
		{kindFile, everyHost, bytes.Repeat([]byte{1}, 200<<10)},
	}
	r := bytes.NewReader(bytesOf(sent...))
	for i, want := range sent {
		got, err := readFrame(r)
		if err != nil || got.kind != want.kind || got.host != want.host || !bytes.Equal(got.payload, want.payload) {
			t.Errorf("frame %d: %v %v, %v", i, got.kind, got.host, err)
		}
	}
	if _, err := readFrame(r); err != io.EOF {
		t.Errorf("%v, want the end", err)
	}
}

// Whatever comes is a frame that is written as it came, or an error; and no message makes its
// handler panic.
func FuzzReadFrame(f *testing.F) {
	f.Add(bytesOf(pack(kindHello, 1, hello{Host: 1, Below: []Target{{Host: 2, Name: "b"}}})))
	f.Add(bytesOf(packOutput(1, 2, crew.Stdout, []byte("text")), frame{kind: kindPing}))
	f.Add(bytesOf(pack(kindProcess, 1, crew.Process{Path: "/bin/true"}), pack(kindCredit, 1, credit{0, 1, 5})))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		for {
			before := len(b) - r.Len()
			fr, err := readFrame(r)
			if err != nil {
				return
			}
			if !bytes.Equal(bytesOf(fr), b[before:len(b)-r.Len()]) {
				t.Fatalf("%v is written otherwise than it came", fr)
			}
			if _, _, _, err := unpackOutput(fr); err == nil && len(fr.payload) < outputHeader {
				t.Fatal("output without a header")
			}
			newTestClient().report(deaf{}, fr)
		}
	})
}

func TestUnpack(t *testing.T) {
	want := hello{Host: 3, FanOut: 2, Below: []Target{{Host: 4, Name: "d", User: "u", Port: 7}}, Way: Way{Kind: "srun", Args: []string{"-v"}}}
	if got, err := unpack[hello](pack(kindHello, 3, want)); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if b := pack(kindHello, 3, hello{Way: Way{Secret: []byte("hush")}}).payload; bytes.Contains(b, []byte("Secret")) {
		t.Errorf("%s: the secret of listening agents is nobody else's", b)
	}
	if errors.Is(errFlooded, errClosed) {
		t.Error("two errors are one")
	}
}
