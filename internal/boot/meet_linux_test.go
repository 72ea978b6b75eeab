//go:build !fitmpi_portable

package boot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fitmpi/fitmpi/internal/secure"
	"github.com/fitmpi/fitmpi/internal/testutil/effort"
	"github.com/fitmpi/fitmpi/internal/testutil/faultproxy"
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
	return newMeeting("tcp", faultproxy.FreeAddress(t), size, say)
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
