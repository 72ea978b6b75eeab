package boot

import (
	"bytes"
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

	"github.com/fitmpi/fitmpi/internal/secure"
)

// lines is standard error of the ranks.
type lines struct {
	mu      sync.Mutex
	b       bytes.Buffer  // guarded by mu
	changed chan struct{} // capacity 1
}

func newLines() *lines { return &lines{changed: make(chan struct{}, 1)} }

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.changed <- struct{}{}:
	default:
	}
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// want waits until the ranks have said it.
func (l *lines) want(t *testing.T, what string) {
	t.Helper()
	ctx := failsafe(t)
	for !strings.Contains(l.String(), what) {
		select {
		case <-l.changed:
		case <-ctx.Done():
			t.Fatalf("nobody says %q:\n%s", what, l)
		}
	}
}

var testSecret = []byte("a secret of the ranks of one job")

// tcpMeeting is one of rank at an address that is free.
func tcpMeeting(t *testing.T, size int, say io.Writer) func(rank int) *meeting {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	return newMeeting("tcp", address, size, say)
}

func unixMeeting(t *testing.T, size int, say io.Writer) func(rank int) *meeting {
	return newMeeting("unix", fmt.Sprintf("fitmpi-test-%d-%s", os.Getpid(), t.Name()), size, say)
}

func newMeeting(network, address string, size int, say io.Writer) func(rank int) *meeting {
	return func(rank int) *meeting {
		m := &meeting{rank: rank, size: size, source: "test", network: network, address: address, secret: testSecret,
			patience: time.Minute, say: say, every: time.Hour}
		for r := range size {
			m.ranks = append(m.ranks, r)
		}
		return m
	}
}

// attendAll brings all ranks together.
func attendAll(t *testing.T, size int, of func(rank int) *meeting) []Session {
	t.Helper()
	all := make([]Session, size)
	var wg sync.WaitGroup
	for r := range all {
		wg.Go(func() {
			s, err := of(r).attend(t.Context())
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
				return
			}
			all[r] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all
}

// finishAll ends all ranks as they should: rank 0's end waits for that of the others.
func finishAll(t *testing.T, all []Session) {
	t.Helper()
	var wg sync.WaitGroup
	for r, s := range all {
		wg.Go(func() {
			if err := errors.Join(s.Finalizing(failsafe(t)), s.Close(), s.Close()); err != nil {
				t.Errorf("rank %d: %v", r, err)
			}
		})
	}
	wg.Wait()
}

func TestMeeting(t *testing.T) {
	for network, newMeeting := range map[string]func(*testing.T, int, io.Writer) func(int) *meeting{"tcp": tcpMeeting, "unix": unixMeeting} {
		t.Run(network, func(t *testing.T) {
			const size = 5
			var said lines
			all := attendAll(t, size, newMeeting(t, size, &said))
			first := all[0].Info()
			for r, s := range all {
				info := s.Info()
				switch {
				case info.Rank != r || info.Size != size || info.LocalRank != r || info.LocalSize != size || info.ProcessRanks != 1:
					t.Errorf("rank %d: %+v", r, info)
				case info.Job != first.Job || !bytes.Equal(info.Secret, first.Secret) || len(info.Secret) != SecretSize:
					t.Errorf("rank %d has another job or secret", r)
				case info.Source != "test" || info.Cores < 1 || info.Net.Remote || info.Host == "":
					t.Errorf("rank %d: %+v", r, info)
				case (info.Segment != nil) != (network == "unix") || (info.Bell != nil) != (network == "unix"):
					t.Errorf("rank %d: memory %v, bell %v", r, info.Segment, info.Bell)
				}
			}
			wantExchange(t, all)
			if network == "unix" {
				wantBells(t, all)
			}
			finishAll(t, all)
			if s := said.String(); s != "" {
				t.Errorf("the ranks say:\n%s", s)
			}
		})
	}
}

func wantExchange(t *testing.T, all []Session) {
	t.Helper()
	card := func(r int) []byte { return bytes.Repeat([]byte{byte(r)}, r*MaxCard/(len(all)-1)) }
	var wg sync.WaitGroup
	for r, s := range all {
		wg.Go(func() {
			cards, err := s.Exchange(failsafe(t), card(r))
			if err != nil || len(cards) != len(all) {
				t.Errorf("rank %d: %d cards, %v", r, len(cards), err)
				return
			}
			for i := range cards {
				if !bytes.Equal(cards[i], card(i)) {
					t.Errorf("rank %d has a wrong card of rank %d", r, i)
				}
			}
			if _, err := s.Exchange(failsafe(t), nil); err == nil {
				t.Errorf("rank %d: a second Exchange passed", r)
			}
		})
	}
	wg.Wait()
}

// wantBells makes each rank fetch the bell of each other.
func wantBells(t *testing.T, all []Session) {
	t.Helper()
	for r, s := range all {
		for other := range all {
			got := make(chan *os.File, 1)
			if err := s.Bell(other, func(f *os.File) { got <- f }); err != nil {
				t.Fatal(err)
			}
			select {
			case f := <-got:
				wantSame(t, f, all[other].Info().Bell)
				f.Close()
			case <-failsafe(t).Done():
				t.Fatalf("rank %d: the bell of %d did not come", r, other)
			}
		}
	}
}

// The first rank comes last. Until then the others try, and say so.
func TestLateLeader(t *testing.T) {
	const size = 4
	said := newLines()
	of := tcpMeeting(t, size, said)
	all := make([]Session, size)
	var wg sync.WaitGroup
	for r := 1; r < size; r++ {
		wg.Go(func() {
			m := of(r)
			m.every = 10 * time.Millisecond
			s, err := m.attend(t.Context())
			if err != nil {
				t.Errorf("rank %d: %v", r, err)
				return
			}
			all[r] = s
		})
	}
	for r := 1; r < size; r++ {
		said.want(t, fmt.Sprintf("fitmpi: rank %d waits for rank 0 at %s, ", r, of(r).address))
	}
	said.want(t, "connection refused")
	s, err := of(0).attend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all[0] = s
	wg.Wait()
	wantExchange(t, all)
	finishAll(t, all)
}

// A rank that does not come is named, and the others are told.
func TestMissingRank(t *testing.T) {
	said := newLines()
	of := tcpMeeting(t, 3, said)
	var wg sync.WaitGroup
	for r := range 2 {
		wg.Go(func() {
			m := of(r)
			m.patience, m.every = 300*time.Millisecond, 10*time.Millisecond
			if r > 0 {
				m.patience = time.Minute // rank 0 gives up first
			}
			_, err := m.attend(t.Context())
			want := "boot: talking to rank 0: it refuses: 1 of 3 ranks have not come (2) after 300ms at " + m.address + ": the job was ended"
			if err == nil || err.Error() != want {
				t.Errorf("rank %d: %v, want %s", r, err, want)
			}
		})
	}
	said.want(t, "fitmpi: rank 0 waits for the others at "+of(0).address+", 0s: ")
	wg.Wait()
}

func TestMissingLeader(t *testing.T) {
	for _, newMeeting := range []func(*testing.T, int, io.Writer) func(int) *meeting{tcpMeeting, unixMeeting} {
		m := newMeeting(t, 2, io.Discard)(1)
		m.patience = 100 * time.Millisecond
		_, err := m.attend(t.Context())
		want := "boot: rank 1 waited 100ms for rank 0 at " + m.address + ": dial " + m.network
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// Who has no part in the job is sent away, with the reason, and the job goes on.
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
	stranger.secret, stranger.patience = []byte("another secret, of another job"), 100*time.Millisecond
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

// Those who dial and prove nothing are bounded, the oldest of them give way, and no rank is kept out.
func TestStrangersGiveWay(t *testing.T) {
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
	var quiet []net.Conn
	for range maxStrangersPerHost + 2 + 1 {
		c, err := net.Dial("tcp", of(0).address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		quiet = append(quiet, c)
	}
	quiet[0].SetReadDeadline(time.Now().Add(secure.Timeout / 2)) // else it would be sent away then
	if _, err := quiet[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest stranger is still there: %v", err)
	}
	follower, err := of(1).attend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	finishAll(t, []Session{leader, follower})
}

// A pod that is started again before all are there.
func TestComesAgain(t *testing.T) {
	said := newLines()
	of := tcpMeeting(t, 3, said)
	all := make([]Session, 3)
	var wg sync.WaitGroup
	attend := func(r int) {
		wg.Go(func() {
			m := of(r)
			m.every = 10 * time.Millisecond
			s, err := m.attend(t.Context())
			if err != nil {
				t.Error(err)
			}
			all[r] = s
		})
	}
	attend(0)
	said.want(t, "2 of 3 ranks have not come (1-2)")
	m := of(1)
	conn, err := net.Dial("tcp", m.address)
	if err != nil {
		t.Fatal(err)
	}
	if conn, err = m.trustCalled(conn); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(appendMessage(nil, joinOf(1, 3, here()))); err != nil {
		t.Fatal(err)
	}
	said.want(t, "1 of 3 ranks have not come (2)")
	conn.Close()
	before := strings.Count(said.String(), "2 of 3 ranks have not come (1-2)")
	for strings.Count(said.String(), "2 of 3 ranks have not come (1-2)") == before { // until it is missed again
		select {
		case <-said.changed:
		case <-failsafe(t).Done():
			t.Fatalf("rank 1 is not missed:\n%s", said)
		}
	}
	attend(1)
	attend(2)
	wg.Wait()
	finishAll(t, all)
}

func TestMeetingAborted(t *testing.T) {
	const size = 3
	for who := range size {
		t.Run(strconv.Itoa(who), func(t *testing.T) {
			said := newLines()
			all := attendAll(t, size, unixMeeting(t, size, said))
			text := fmt.Sprintf("rank %d (pid %d on %s) aborted the job with code 7: enough", who, os.Getpid(), all[0].Info().Host)
			var others sync.WaitGroup
			for r, s := range all {
				if r == who {
					continue
				}
				others.Go(func() {
					wantEvent(t, s, Event{Kind: JobAborted, Rank: who, Message: text, Code: 7})
					s.Close()
				})
			}
			if err := errors.Join(all[who].Abort(7, "enough\n"), all[who].Close()); err != nil {
				t.Error(err)
			}
			others.Wait()
			if want := "fitmpi: " + text + "\n"; said.String() != want {
				t.Errorf("the ranks say %q, want %q", said, want)
			}
		})
	}
}

// A rank that hangs up before it is done has died.
func TestMeetingLosesRank(t *testing.T) {
	const size = 3
	for who := 1; who < size; who++ {
		said := newLines()
		all := attendAll(t, size, tcpMeeting(t, size, said))
		all[who].Close()
		text := fmt.Sprintf("rank %d (pid %d on %s) is gone: it exited without Finalize, or was killed", who, os.Getpid(), all[0].Info().Host)
		var others sync.WaitGroup
		for r, s := range all {
			if r == who {
				continue
			}
			others.Go(func() {
				wantEvent(t, s, Event{Kind: PeerFailed, Rank: who, Message: text, Code: 1})
				wantEvent(t, s, Event{Kind: JobAborted, Rank: -1, Message: text, Code: 1})
				s.Close()
			})
		}
		others.Wait()
		said.want(t, "fitmpi: "+text+"\n")
	}
}

func TestMeetingLosesLeader(t *testing.T) {
	all := attendAll(t, 2, tcpMeeting(t, 2, io.Discard))
	leader := all[0].(*hubSession)
	var dying sync.WaitGroup
	dying.Go(func() { leader.Close() }) // without Finalizing
	ctx := failsafe(t)
	for kind := EventKind(0); kind != LauncherGone; {
		select {
		case ev := <-all[1].Events():
			kind = ev.Kind
		case <-ctx.Done():
			t.Fatal("the end of rank 0 went unnoticed")
		}
		if kind == JobAborted {
			all[1].Close()
			break
		}
	}
	dying.Wait()
	all[1].Close()
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

// Anybody can dial an abstract name. Another user is sent away.
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

// Anybody can listen under an abstract name. A rank does not talk to another user.
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
