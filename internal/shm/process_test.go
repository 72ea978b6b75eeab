//go:build linux && !fitmpi_portable

package shm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// child is a rank of the segment in descriptor 3. It ends when its standard input does, unless its
// mode ends it before.
func child(mode string) error {
	s, err := Open(os.NewFile(3, "segment"))
	if err != nil {
		return err
	}
	defer s.Close()
	switch mode {
	case "echo":
		return echo(s)
	case "offer":
		return offer(s)
	case "probe":
		return probeSibling(s)
	case "lend":
		return lend()
	}
	return fmt.Errorf("unknown mode")
}

// echo is rank 1: it returns every record to rank 0, "end" last.
func echo(s *Segment) error {
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	r, err := NewReader(s.Ring(0, 1))
	if err != nil {
		return err
	}
	w, err := NewWriter(s.Ring(1, 0))
	if err != nil {
		return err
	}
	for {
		head, rest, ok := r.Next()
		if r.Err() != nil {
			return r.Err()
		}
		if !ok {
			runtime.Gosched()
			continue
		}
		for !w.Put(head, rest) {
			runtime.Gosched()
		}
		if string(head) == "end" {
			return nil
		}
		r.Release()
	}
}

// payload is what offer offers.
func payload() []byte { return bytes.Repeat([]byte("0123456789abcdef!"), 1<<16) }

// offer is rank 1, whose payload others fetch. It says when it is ready.
func offer(s *Segment) error {
	b, data := s.Block(1), payload()
	var pin runtime.Pinner
	pin.Pin(&data[0])
	defer pin.Unpin()
	b.Offers[5].Addr.Store(uint64(addressOf(data)))
	b.Offers[5].Len.Store(uint64(len(data)))
	Join(b, true)
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	runtime.KeepAlive(data)
	return err
}

// probeSibling is rank 2, which reads the memory of rank 1: both are children of one parent.
func probeSibling(s *Segment) error {
	if err := Probe(s.Block(1)); err != nil {
		return err
	}
	return fetch(s.Block(1))
}

// fetch reads the payload that the owner of b offers.
func fetch(b *Block) error {
	o := &b.Offers[5]
	dst := make([]byte, o.Len.Load())
	if n, err := ReadProcess(int(b.PID.Load()), dst, o.Addr.Load()); err != nil || n != len(dst) {
		return fmt.Errorf("read %d of %d bytes: %w", n, len(dst), err)
	}
	if !bytes.Equal(dst, payload()) {
		return errors.New("the payload arrived changed")
	}
	return nil
}

// start runs this binary as another process, which has the segment. wait ends its input and waits
// for it.
func start(t *testing.T, mode string, segment *os.File) (stdout io.Reader, wait func() error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+mode)
	cmd.ExtraFiles = []*os.File{segment}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait = sync.OnceValue(func() error {
		in.Close()
		return cmd.Wait()
	})
	t.Cleanup(func() { wait() })
	return out, wait
}

// startOffer returns when the child has joined.
func startOffer(t *testing.T, segment *os.File) (wait func() error) {
	t.Helper()
	out, wait := start(t, "offer", segment)
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(errors.Join(err, wait()))
	}
	return wait
}

// needReads skips where the kernel does not let even ourselves read.
func needReads(t *testing.T) {
	t.Helper()
	b := NewBlock()
	Join(b, true)
	if err := Probe(b); err != nil {
		t.Skip(err)
	}
}

// TestTwoProcesses sends records to another process and gets them back.
func TestTwoProcesses(t *testing.T) {
	s, f := newSegment(t, 2)
	w, err := NewWriter(s.Ring(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(s.Ring(1, 0))
	if err != nil {
		t.Fatal(err)
	}
	_, wait := start(t, "echo", f)
	out, in := newScript(seed, 20_000), newScript(seed, 20_000)
	const records = 5_000
	for sent, got := 0, 0; got < records; {
		if sent < min(records, got+20) {
			rec := out.record()
			for !w.Put(rec, nil) {
				runtime.Gosched()
			}
			sent++
			continue
		}
		for !r.Ready() {
			if r.Next(); r.Err() != nil {
				t.Fatal(r.Err())
			}
			runtime.Gosched()
		}
		wantRecord(t, "echo", r, in.record())
		got++
	}
	if !w.Put([]byte("end"), nil) {
		t.Fatal("no room", w.Err())
	}
	for !r.Ready() {
		runtime.Gosched()
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	wantRecord(t, "left by a process that has ended", r, []byte("end"))
	if w.Err() != nil {
		t.Error(w.Err())
	}
}

func TestReadChild(t *testing.T) {
	needReads(t)
	s, f := newSegment(t, 3)
	wait := startOffer(t, f)
	b := s.Block(1)
	if err := Probe(b); err != nil {
		t.Error(err)
	}
	if err := fetch(b); err != nil {
		t.Error(err)
	}
	pid, addr := int(b.PID.Load()), b.Offers[5].Addr.Load()
	if n, err := ReadProcess(pid, make([]byte, 8), 8); !errors.Is(err, unix.EFAULT) || n != 0 {
		t.Errorf("at a bad address: %d bytes, %v", n, err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	n, err := ReadProcess(pid, make([]byte, 8), addr)
	if !errors.Is(err, unix.ESRCH) || n != 0 || !strings.Contains(err.Error(), "process_vm_readv") {
		t.Errorf("of a process that has ended: %d bytes, %v", n, err)
	}
	if err := Probe(b); !errors.Is(err, unix.ESRCH) {
		t.Errorf("probe of a process that has ended: %v", err)
	}
}

// TestReadSibling needs what Join permits where Yama restricts.
func TestReadSibling(t *testing.T) {
	needReads(t)
	_, f := newSegment(t, 3)
	waitOffer := startOffer(t, f)
	_, waitProbe := start(t, "probe", f)
	if err := errors.Join(waitProbe(), waitOffer()); err != nil {
		t.Error(err)
	}
}

func TestProbe(t *testing.T) {
	b := NewBlock()
	if err := Probe(b); err == nil {
		t.Error("a rank that has not joined: no error")
	}
	needReads(t)
	Join(b, true)
	if err := Probe(b); err != nil {
		t.Error(err)
	}
	if n, err := ReadProcess(os.Getpid(), nil, 0); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	b.Cookie.Add(1)
	if err := Probe(b); err == nil || !strings.Contains(err.Error(), "namespace") {
		t.Errorf("another cookie: %v", err)
	}
	b.CookieAddr.Store(8)
	if err := Probe(b); !errors.Is(err, unix.EFAULT) {
		t.Errorf("a bad address: %v", err)
	}
}

func TestExplain(t *testing.T) {
	for errno, want := range map[unix.Errno]string{
		unix.EPERM: "ptrace_scope", unix.ENOSYS: "CONFIG_CROSS_MEMORY_ATTACH", unix.ESRCH: "has ended", unix.ENOMEM: "",
	} {
		err := explain(7, readError(7, 8, 0, errno))
		if !errors.Is(err, errno) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "process_vm_readv") {
			t.Errorf("%v: %v", errno, err)
		}
	}
}
