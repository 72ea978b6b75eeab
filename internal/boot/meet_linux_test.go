package boot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/secure"
	"github.com/fitmpi/fitmpi/internal/strangers/strangerstest"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
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
	effort.Need(t, effort.Usual, "it waits for seconds")
	said := newLines()
	of := tcpMeeting(t, 3, said)
	var wg sync.WaitGroup
	for r := range 2 {
		wg.Go(func() {
			m := of(r)
			m.patience, m.every = 3*time.Second, 10*time.Millisecond // in which rank 1 comes on a loaded machine too
			if r > 0 {
				m.patience = time.Minute // rank 0 gives up first
			}
			_, err := m.attend(t.Context())
			want := "boot: talking to rank 0: it refuses: 1 of 3 ranks have not come (2) after 3s at " + m.address + ": the job was ended"
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

// TestStrangersGiveWay: the number of peers that dial and prove nothing is bounded, the oldest of
// them give way, and no rank is kept out.
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
			err := all[who].Abort(7, "enough\n")
			want := "fitmpi: " + text + "\n"
			if said.String() != want { // before this rank may exit: a launcher that sees that ends the leader
				t.Errorf("the ranks say %q, want %q", said, want)
			}
			if err = errors.Join(err, all[who].Close()); err != nil {
				t.Error(err)
			}
			others.Wait()
			if said.String() != want {
				t.Errorf("in the end the ranks have said %q, want %q", said, want)
			}
		})
	}
}

// TestMeetingLeaderIdles: a rank 0 that is idle may be gone: the others go on, with the bells that
// they have fetched, and hear of it only if it had taken part again.
func TestMeetingLeaderIdles(t *testing.T) {
	for _, again := range []bool{false, true} {
		all := attendAll(t, 3, tcpMeeting(t, 3, newLines()))
		for _, s := range all {
			if err := UseSessions(s); err != nil {
				t.Fatal(err)
			}
		}
		if err := Idle(t.Context(), all[0]); err != nil {
			t.Fatal(err)
		}
		if again {
			if err := Wake(all[0]); err != nil {
				t.Fatal(err)
			}
		}
		hub := all[0].(*hubSession).hub
		hub.post(func() { // as when the process dies: nothing is said
			for _, m := range hub.members {
				m.link.conn.Close()
			}
		})
		for _, s := range all[1:] {
			member := s.(*session)
			<-member.donec // all that came is read
			if again {
				wantEvent(t, s, Event{Kind: LauncherGone, Rank: -1, Code: 1, Message: "lost rank 0: it closed the connection or died"})
			} else if n := len(member.events); n > 0 {
				t.Errorf("rank %d has %d events", s.Info().Rank, n)
			}
			if err := Idle(t.Context(), s); err != nil {
				t.Error(err)
			}
		}
		for _, s := range all {
			s.Close()
		}
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

// TestMeetingLosesLeaderAtOnce: a rank was welcomed by a leader that died before it had given what
// the rank needs to do without it. The rank does not wait for another leader.
func TestMeetingLosesLeaderAtOnce(t *testing.T) {
	t.Setenv(envFT, "1")
	m := unixMeeting(t, 2, io.Discard)(1)
	m.patience = 3 * time.Second // else a minute, which the rank is not to wait
	listener, err := listenLocal(m.address)
	if err != nil {
		t.Fatal(err)
	}
	bell, other, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer bell.Close()
	defer other.Close()
	var leading sync.WaitGroup
	leading.Go(func() {
		defer listener.Close()
		conn, err := listener.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		l := newLink(conn)
		l.join = true
		defer l.Close()
		for greeted := false; ; {
			n, err := l.Next()
			switch {
			case err != nil:
				t.Error("the rank has gone: ", err)
				return
			case n.Kind == arrived && !greeted:
				info := Info{Rank: 1, Size: 2, LocalRank: 1, LocalSize: 2, Host: "here", Cores: 1, Universe: 2, Bell: bell}
				info.Job, info.Secret = NewJob()
				l.greet(info)
				greeted = true
			case n.Kind == BellAsked:
				return
			}
		}
	})
	s, err := m.attend(t.Context())
	if s != nil {
		s.Close()
	}
	if err == nil || err.Error() != "boot: fetching the bells of this host: lost rank 0" {
		t.Errorf("%v", err)
	}
	leading.Wait()
}

// TestMeetingGoesOn: where the job goes on without its dead, the other ranks are told which rank
// died, and nothing else. The leader is told too. The others need no leader for the bells, nor for
// their end.
func TestMeetingGoesOn(t *testing.T) {
	t.Setenv(envFT, "1")
	for network, newMeeting := range map[string]func(*testing.T, int, io.Writer) func(int) *meeting{"tcp": tcpMeeting, "unix": unixMeeting} {
		t.Run(network, func(t *testing.T) {
			const size = 4
			said := newLines()
			all := attendAll(t, size, newMeeting(t, size, said))
			wantExchange(t, all)
			text := fmt.Sprintf("rank 2 (pid %d on %s) is gone: it exited without Finalize, or was killed", os.Getpid(), all[0].Info().Host)
			all[2].Close()
			for _, r := range []int{0, 1, 3} {
				wantEvent(t, all[r], Event{Kind: PeerFailed, Rank: 2, Message: text, Code: 1})
			}
			said.want(t, "fitmpi: "+text+"; the others go on\n")
			all[0].Close()
			for _, r := range []int{1, 3} {
				select {
				case ev := <-all[r].Events():
					if ev.Kind != PeerFailed || ev.Rank != 0 {
						t.Errorf("rank %d hears %+v of the death of the leader", r, ev)
					}
				case <-failsafe(t).Done():
					t.Fatalf("rank %d: the end of rank 0 went unnoticed", r)
				}
			}
			for _, other := range []int{1, 3} {
				if network != "unix" {
					break
				}
				got := make(chan *os.File, 1)
				if err := all[1].Bell(other, func(f *os.File) { got <- f }); err != nil {
					t.Fatalf("the bell of rank %d, after the death of the leader: %v", other, err)
				}
				f := <-got
				wantSame(t, f, all[other].Info().Bell)
				f.Close()
			}
			finishAll(t, []Session{all[1], all[3]})
			for _, r := range []int{1, 3} {
				if ev, ok := <-all[r].Events(); ok {
					t.Errorf("rank %d hears %+v at its end", r, ev)
				}
			}
		})
	}
}

// TestMeetingUnderFire: ranks find each other at rank 0 while all kinds of strangers come there,
// and nothing is left of these.
func TestMeetingUnderFire(t *testing.T) {
	before := strangerstest.Held()
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
	hello := appendMessage(nil, message{Type: typeJoin, Version: Version, Rank: 1, Size: 2, Place: &place{}})
	if n := strangerstest.Fire(t, of(0).address, 1000, hello); n != 1000 {
		t.Errorf("%d of 1000 connections could be made", n)
	}
	var flood sync.WaitGroup
	flood.Go(func() { strangerstest.Fire(t, of(0).address, 1000, hello) })
	follower, err := of(1).attend(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	flood.Wait()
	finishAll(t, []Session{leader, follower})
	strangerstest.Same(t, before)
}
