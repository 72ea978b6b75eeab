//go:build linux && !fitmpi_portable

package boot

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/fitmpi/fitmpi/internal/sys"
)

// openFDs counts the descriptors of this process that are open to anything but the runtime's own
// poller.
func openFDs(t *testing.T) int {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(slices.DeleteFunc(fds, func(fd os.DirEntry) bool {
		target, err := os.Readlink("/proc/self/fd/" + fd.Name())
		return err != nil || target == "anon_inode:[eventpoll]" // or the directory that is read here
	}))
}

// wantNoLeak fails the test if it ends with more descriptors than it began with.
func wantNoLeak(t *testing.T) {
	warm, warmFD := socketPair(t) // whatever the runtime opens once
	warm.Close()
	syscall.Close(warmFD)
	before := openFDs(t)
	t.Cleanup(func() {
		if after := openFDs(t); after != before {
			t.Errorf("%d descriptors are open, %d before", after, before)
		}
	})
}

func newBell(t *testing.T) *os.File {
	t.Helper()
	f, err := sys.NewEventFD()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// newSegment is a file that can be told from others by its text.
func newSegment(t *testing.T, text string) *os.File {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "segment")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	return f
}

// wantSame checks that two descriptors are one open eventfd: what is written to one is read from
// the other.
func wantSame(t *testing.T, here, there *os.File) {
	t.Helper()
	one := make([]byte, 8)
	one[0], one[7] = 1, 1 // in either byte order not 0
	if _, err := here.Write(one); err != nil {
		t.Fatal(err)
	}
	fd := int(there.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil { // so that a wrong descriptor fails instead of waiting
		t.Fatal(err)
	}
	defer syscall.SetNonblock(fd, false)
	got := make([]byte, 8)
	if n, err := syscall.Read(fd, got); err != nil || n != 8 || !bytes.Equal(one, got) {
		t.Errorf("read %v, %v; want what was rung", got, err)
	}
}

func wantCloexec(t *testing.T, f *os.File) {
	t.Helper()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), syscall.F_GETFD, 0)
	if errno != 0 || flags&syscall.FD_CLOEXEC == 0 {
		t.Errorf("flags %#x, %v: a child of the rank would inherit the descriptor", flags, errno)
	}
}

func TestDescriptorsTravel(t *testing.T) {
	wantNoLeak(t)
	for _, tc := range []struct {
		name          string
		segment, bell bool
	}{{"none", false, false}, {"segment", true, false}, {"bell", false, true}, {"both", true, true}} {
		t.Run(tc.name, func(t *testing.T) {
			info := testInfo(0, 2)
			if tc.segment {
				info.Segment = newSegment(t, "shared")
			}
			if tc.bell {
				info.Bell = newBell(t)
			}
			if tc.bell != tc.segment {
				info.Trace = newSegment(t, "trace")
			}
			s, _ := connect(t, info)
			got := s.Info()
			if (got.Segment != nil) != tc.segment || (got.Bell != nil) != tc.bell || (got.Trace != nil) != (tc.bell != tc.segment) {
				t.Fatalf("segment %v, bell %v, trace %v", got.Segment, got.Bell, got.Trace)
			}
			if got.Trace != nil {
				wantCloexec(t, got.Trace)
				if text, err := io.ReadAll(io.NewSectionReader(got.Trace, 0, 100)); err != nil || string(text) != "trace" {
					t.Errorf("trace holds %q, %v", text, err)
				}
			}
			if tc.segment {
				wantCloexec(t, got.Segment)
				if text, err := io.ReadAll(io.NewSectionReader(got.Segment, 0, 100)); err != nil || string(text) != "shared" {
					t.Errorf("segment holds %q, %v", text, err)
				}
			}
			if tc.bell {
				wantCloexec(t, got.Bell)
				wantSame(t, info.Bell, got.Bell)
			}
		})
	}
}

// Close closes what Info has, whether or not its user did so before.
func TestCloseClosesDescriptors(t *testing.T) {
	wantNoLeak(t)
	info := testInfo(0, 2)
	info.Segment, info.Bell, info.Trace = newSegment(t, ""), newBell(t), newSegment(t, "")
	s, _ := connect(t, info)
	got := s.Info()
	if err := errors.Join(got.Segment.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if err := got.Bell.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closing the bell again: %v, want %v", err, os.ErrClosed)
	}
	if err := got.Trace.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("closing the recording again: %v, want %v", err, os.ErrClosed)
	}
}

// A launcher that is wrong about descriptors ends the session, and leaves none behind.
func TestDescriptorsMisused(t *testing.T) {
	wantNoLeak(t)
	for _, tc := range []struct {
		name, line string
		files      []int // with each of the lines, which are alike
		want       string
	}{
		{"named and not sent", `{"type":"bell","fds":["bell"]}`, []int{0}, "the launcher named 1 descriptors and sent fewer"},
		{"not named", `{"type":"bell","rank":1}`, []int{1}, "the launcher sent the bell of local rank 1 without its descriptor"},
		{"of another name", `{"type":"bell","fds":["gong"]}`, []int{1}, "the launcher sent the bell of local rank 0 without its descriptor"},
		{"too many lines", `{"type":"event","event":"asked"}`, []int{maxPending, 1}, "9 descriptors came without a line that names them"},
		{"too many at once", `{"type":"event","event":"asked"}`, []int{maxPending + 1}, "descriptors were lost on the way; raise the limit on open files (ulimit -n)"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conn, fd := socketPair(t)
			l := NewLink(conn, testInfo(0, 2))
			defer l.Close()
			s, err := Find([]string{FDVariable + "=" + itoa(fd)})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, n := range tc.files {
				var files []*os.File
				for range n {
					files = append(files, newBell(t))
				}
				if err := sendRights(conn.(*net.UnixConn), []byte(tc.line+"\n"), files); err != nil {
					t.Fatal(err)
				}
			}
			wantGone(t, s, tc.want)
		})
	}
}

// wantGone waits until the session has ended for the reason given.
func wantGone(t *testing.T, s Session, why string) {
	t.Helper()
	ctx := failsafe(t)
	for {
		select {
		case ev := <-s.Events():
			if ev.Kind == Asked { // the line of a test that is about its descriptors
				continue
			}
			if want := (Event{Kind: LauncherGone, Rank: -1, Message: "lost fitrun: " + why, Code: 1}); ev != want {
				t.Errorf("event %+v, want %+v", ev, want)
			}
		case <-ctx.Done():
			t.Error("it went unnoticed")
		}
		return
	}
}

// Names that a rank does not know are for ranks of another time.
func TestUnknownDescriptorIsClosed(t *testing.T) {
	wantNoLeak(t)
	conn, fd := socketPair(t)
	l := NewLink(conn, testInfo(0, 2))
	defer l.Close()
	s, err := Find([]string{FDVariable + "=" + itoa(fd)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	bell := newBell(t)
	line := `{"type":"bell","fds":["gong","bell","bell"]}` + "\n"
	if err := sendRights(conn.(*net.UnixConn), []byte(line), []*os.File{bell, bell, bell}); err != nil {
		t.Fatal(err)
	}
	failed := Event{Kind: PeerFailed, Rank: 1}
	l.SendEvent(failed)
	wantEvent(t, s, failed)
}

// Descriptors that find no room are an error that says so; half of them must not pass for all.
func TestDescriptorsWithoutRoom(t *testing.T) {
	wantNoLeak(t)
	info := testInfo(0, 2)
	info.Segment, info.Bell = newSegment(t, ""), newBell(t)
	conn, fd := socketPair(t)
	here, err := inherit(itoa(fd), "fitrun")
	if err != nil {
		t.Fatal(err)
	}
	l := NewLink(conn, info)
	defer l.Close()
	fillDescriptors(t)
	if _, err := Open(here); err == nil ||
		err.Error() != "boot: talking to fitrun: waiting for its welcome: descriptors were lost on the way; raise the limit on open files (ulimit -n)" {
		t.Errorf("%v, want it to say which limit to raise", err)
	}
}

// fillDescriptors leaves this test room for one more descriptor.
func fillDescriptors(t *testing.T) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	low := before
	low.Cur = 512
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &low); err != nil {
		t.Fatal(err)
	}
	var filling []*os.File
	t.Cleanup(func() {
		closeFiles(filling...)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		filling = append(filling, f)
	}
	last := len(filling) - 1
	filling[last].Close()
	filling = filling[:last]
}
