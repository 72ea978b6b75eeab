//go:build !fitmpi_portable

package boot

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestSentAway: a peer that has no part in the job is sent away, with the reason, and the job goes
// on.
func TestSentAway(t *testing.T) {
	said := newLines()
	of := tcpMeeting(t, 2, said)
	var leader Session
	var wg sync.WaitGroup
	wg.Go(func() {
		m := of(0)
		m.every = 10 * time.Millisecond
		s, err := m.attend(t.Context())
		if err != nil {
			t.Error(err)
		}
		leader = s
	})
	said.want(t, "1 of 2 ranks have not come (1)")
	for _, tc := range []struct {
		rank, size int
		want       string
	}{
		{0, 2, "rank 0 is here already: process "},
		{1, 3, "rank 1 says that the job has 3 ranks, rank 0 says 2"},
		{2, 3, "rank 2 says that the job has 3 ranks, rank 0 says 2"},
	} {
		m := of(tc.rank)
		m.size = tc.size
		_, err := m.follow(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "boot: talking to rank 0: it refuses: "+tc.want) {
			t.Errorf("%v, want %s", err, tc.want)
		}
		said.want(t, "fitmpi: "+tc.want)
	}
	stranger := of(1)
	stranger.secret, stranger.patience = []byte("another secret, of the ranks of another job"), 100*time.Millisecond
	if _, err := stranger.attend(t.Context()); err == nil || !strings.Contains(err.Error(), "another secret, or is not of this job") {
		t.Errorf("a rank with another secret: %v", err)
	}
	said.want(t, "was sent away: secure: the other end has another secret")
	follower, err := of(1).attend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	finishAll(t, []Session{leader, follower})
}

// TestSentAwayFromSome: a rank that is not of those that meet hears why it is sent away. So does
// one that says which rank it is only when the others have met.
func TestSentAwayFromSome(t *testing.T) {
	const (
		business = "rank 1 has no business here: ranks 0,2 meet"
		begun    = "the job has begun, or has ended, without this process"
	)
	said := newLines()
	meet := unixMeeting(t, 3, said)
	of := func(rank int) *meeting {
		m := meet(rank)
		m.ranks = []int{0, 2}
		return m
	}
	var leader Session
	var wg sync.WaitGroup
	wg.Go(func() {
		s, err := of(0).attend(t.Context())
		if err != nil {
			t.Error(err)
		}
		leader = s
	})
	slow := dialUntil(t, of(2)) // and is heard when it is too late; it is accepted before the ranks that dial later
	_, err := of(1).follow(t.Context())
	wantRefused(t, err, "boot: talking to rank 0: it refuses: "+business)
	said.want(t, "fitmpi: "+business+"; it was sent away\n")
	follower, err := of(2).attend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	_, err = open(slow, opening{other: "rank 0", until: time.Now().Add(openTimeout), join: joinOf(2, 3, here())})
	wantRefused(t, err, "talking to rank 0: it refuses: "+begun)
	said.want(t, "fitmpi: "+begun+"; it was sent away\n")
	finishAll(t, []Session{leader, follower})
}

// dialUntil dials the leader until it is there.
func dialUntil(t *testing.T, m *meeting) net.Conn {
	t.Helper()
	for ctx := failsafe(t); ; {
		conn, err := net.Dial(m.network, "@"+m.address)
		if err == nil {
			return conn
		}
		if ctx.Err() != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// asNobody runs f on a thread of another user.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("acting as another user needs root")
	}
	const nobody = 65534
	done := make(chan syscall.Errno)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its rights
		_, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, nobody, nobody, nobody)
		if errno == 0 {
			f()
		}
		done <- errno
	}()
	if errno := <-done; errno != 0 {
		t.Fatal(errno)
	}
}

// dialAbstract dials on the calling thread.
func dialAbstract(name string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: "@" + name})
	}
	return fd, err
}

// TestAnotherUserDials: any process can dial an abstract name. One of another user is sent away.
func TestAnotherUserDials(t *testing.T) {
	l, err := listenLocal("fitmpi-test-user-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var stranger int
	asNobody(t, func() {
		if stranger, err = dialAbstract(strings.TrimPrefix(l.Addr().String(), "@")); err != nil {
			t.Error(err)
		}
	})
	defer syscall.Close(stranger)
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("process %d at the other end is of user 65534, this one of user 0", os.Getpid())
	if _, err := sameUser(conn); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := conn.Write([]byte{1}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection is open: %v", err)
	}
	friend, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer friend.Close()
	if conn, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	if conn, err = sameUser(conn); err != nil {
		t.Error(err)
	}
	conn.Close()
}

// TestAnotherUserListens: any process can listen under an abstract name. A rank does not talk to
// one of another user.
func TestAnotherUserListens(t *testing.T) {
	m := unixMeeting(t, 2, io.Discard)(1)
	m.patience = 100 * time.Millisecond
	var fd int
	asNobody(t, func() {
		var err error
		if fd, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0); err == nil {
			if err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: "@" + m.address}); err == nil {
				err = syscall.Listen(fd, 100)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
	defer syscall.Close(fd)
	if _, err := m.attend(t.Context()); err == nil || !strings.Contains(err.Error(), "is of user 65534") {
		t.Errorf("%v, want it to see the other user", err)
	}
}

// TestMeetingRefuses: a rank that says what the hub cannot make use of is out, and all ranks hear
// why.
func TestMeetingRefuses(t *testing.T) {
	for _, tc := range []struct {
		name    string
		isAside bool
		say     message
		want    string
	}{
		{"suspicion", false, message{Type: typeSuspect, Rank: 0, Text: "why"}, "it suspects another rank, and there is no launcher here that could look at that"},
		{"answer", false, message{Type: typeAnswer, Data: []byte("{}")}, "it answered a question that was not asked"},
		{"bell", false, message{Type: typeBell, Rank: 2}, "it asked for the bell of local rank 2, and there is none"},
		{"card", true, message{Type: typeCard}, "it gave a card that was not asked for"},
		{"join", false, joinOf(1, 2, here()), `message of type "join" out of turn from a rank`},
		{"word", false, message{Type: "word"}, `unexpected message of type "word" from a rank`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := unixMeeting(t, 2, newLines())
			all := attendAll(t, 2, func(rank int) *meeting {
				m := of(rank)
				m.isAside = tc.isAside
				return m
			})
			if err := all[1].(*session).send(tc.say); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("rank 1 (pid %d on %s) broke the boot protocol: %s", os.Getpid(), all[0].Info().Host, tc.want)
			wantEvent(t, all[0], Event{Kind: PeerFailed, Rank: 1, Message: text, Code: 1})
			wantEvent(t, all[0], Event{Kind: JobAborted, Rank: -1, Message: text, Code: 1})
			for _, s := range all {
				s.Close()
			}
		})
	}
}

// A false rank 0 that asks for nothing, and one that hangs up, are no rank 0.
func TestRankOutOfTurn(t *testing.T) {
	here, there := net.Pipe()
	l := newLink(there)
	l.join = true
	defer l.Close()
	var rank sync.WaitGroup
	rank.Go(func() { io.WriteString(here, `{"type":"card","card":""}`+"\n") })
	if _, err := l.Next(); err == nil || err.Error() != `message of type "card" out of turn from a rank` {
		t.Error(err)
	}
	rank.Wait()
	fitrun := NewLink(there, testInfo(0, 1))
	defer fitrun.Close()
	rank.Go(func() { here.Write(appendMessage(nil, joinOf(0, 1, place{}))) })
	rank.Go(func() { io.Copy(io.Discard, here) })
	if _, err := fitrun.Next(); err == nil || err.Error() != `message of type "join" out of turn from a rank` {
		t.Error(err)
	}
	here.Close()
	rank.Wait()
}
