package boot

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fitmpi/fitmpi/internal/relay"
	"unicode/utf8"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestConsumeRefuses(t *testing.T) {
	secret := `"secret":"` + strings.Repeat("A", 43) + `="`
	good := `{"type":"welcome","v":1,"size":1,"local_size":1,"cores":1,` + secret
	job := `"job":"` + strings.Repeat("0", 32) + `"`
	for _, tc := range []struct {
		consume    func([]byte) (message, error)
		line, want string
	}{
		{consumeFromLauncher, `{"type":"welcome","v":1}`, "job of 0 ranks"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":4,"rank":4}`, "rank 4 in a job of 4"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":4,"rank":-1}`, "rank -1"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":4,"local_size":5}`, "local rank 0 of 5"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":1,"local_size":1,"secret":"AA==","cores":1}`, "secret of 1 bytes"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":1,"local_size":1,` + secret + `}`, "0 cores"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":1,"local_size":1,"cores":1,` + secret + `}`, "process 0 with 0 ranks"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":2,"local_size":1,"universe":1,"cores":1,` + secret + `}`, "room for 1 ranks in a job of 2"},
		{consumeFromLauncher, good + `,"universe":1048577}`, "room for 1048577 ranks"},
		{consumeFromLauncher, good + `,"process_ranks":2}`, "process 0 with 2 ranks"},
		{consumeFromLauncher, good + `,"process_ranks":1,"process":1}`, "process 1 with"},
		{consumeFromLauncher, good + `,"process_ranks":1,"bound":"3-1"}`, "not a list of processors"},
		{consumeFromLauncher, good + `,"process_ranks":1,"bound":"` + strings.Repeat("1", maxBound+1) + `"}`, "list of processors of"},
		{consumeFromLauncher, good + `,"process_ranks":1,"fds":["a","b","c","d","e"]}`, "5 descriptors"},
		{consumeFromLauncher, good + `,"process_ranks":1}`, "job id"},
		{consumeFromLauncher, good + `,"process_ranks":1,"near":"1-0"}`, `ranks "1-0" on the host of rank 0, which is local rank 0 of 1`},
		{consumeFromLauncher, good + `,"process_ranks":1,"near":"0-1"}`, `ranks "0-1" on the host of rank 0, which is local rank 0 of 1`},
		{consumeFromLauncher, good + `,"process_ranks":1,"near":"1"}`, `ranks "1" on the host of rank 0, which is local rank 0 of 1`},
		{consumeFromLauncher, good + `,"process_ranks":1,"near":"0` + strings.Repeat(",0", maxList) + `"}`, `on the host of rank 0, which is local rank 0 of 1`},
		{consumeFromLauncher, `{"type":"refused","text":"` + strings.Repeat("a", maxText+1) + `"}`, "text of 8193 bytes"},
		{consumeFromLauncher, `{"type":"join","v":1,"size":1,"place":{}}`, `unexpected message of type "join" from the launcher`},
		{consumeFromRank, `{"type":"join","size":1,"place":{}}`, "version 0"},
		{consumeFromRank, `{"type":"join","v":1,"place":{}}`, "rank 0 joins a job of 0"},
		{consumeFromRank, `{"type":"join","v":1,"rank":-1,"size":2,"place":{}}`, "rank -1 joins a job of 2"},
		{consumeFromRank, `{"type":"join","v":1,"rank":2,"size":2,"place":{}}`, "rank 2 joins a job of 2"},
		{consumeFromRank, `{"type":"join","v":1,"rank":1,"size":2000000,"place":{}}`, "rank 1 joins a job of 2000000"},
		{consumeFromRank, `{"type":"join","v":1,"rank":1,"size":2}`, "rank 1 does not say where it is"},
		{consumeFromRank, `{"type":"join","v":1,"rank":1,"size":2,"place":{"cpus":"x"}}`, "not a list of processors"},
		{consumeFromRank, `{"type":"join","v":1,"rank":1,"size":2,"place":{"host":"` + strings.Repeat("h", maxValue+1) + `"}}`, "a place of 1025 bytes"},
		{consumeFromRank, `{"type":"refused"}`, `unexpected message of type "refused" from a rank`},
		{consumeFromLauncher, inNet(`"iface":"eth0,,"`), "neither the name of an interface"},
		{consumeFromLauncher, inNet(`"iface":"` + strings.Repeat("e,", maxIface/2) + `e"`), "list of interfaces of 1025 bytes"},
		{consumeFromLauncher, inNet(`"ports":"9-3"`), "no range of ports"},
		{consumeFromLauncher, inNet(`"domain":"a b"`), "letters, digits"},
		{consumeFromLauncher, inNet(`"domain":"` + strings.Repeat("a", relay.MaxDomain+1) + `"`), "want 1 to 64 letters"},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[` + strings.Repeat(`{},`, MaxGateways) + `{}]`), "65 gateways"},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":""}]`), `gateway 0: domain ""`},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"a"}]`), `leads to domain "a", and the rank is in "a"`},
		{consumeFromLauncher, inNet(`"gateways":[{"domain":"a"}]`), `leads to domain "a", and the rank is in ""`},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"b","addr":"there:80"}]`), "no IP address with a port"},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"b","addr":"1.2.3.4:0"}]`), "no IP address with a port"},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"b","addr":"` + strings.Repeat("1", maxGateAddr+1) + `"}]`), "address of 129 bytes"},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"b","addr":"1.2.3.4:5","key":"AAAA"}]`), "key of 3 bytes"},
		{consumeFromLauncher, `{"type":"bell","rank":-1}`, "bell of local rank -1"},
		{consumeFromLauncher, `{"type":"welcome","v":9,` + job + `}`, "version 9"},
		{consumeFromLauncher, `{"type":"cards"}`, "0 cards"},
		{consumeFromLauncher, `{"type":"cards","first":-1,"cards":["AA=="]}`, "from rank -1"},
		{consumeFromLauncher, `{"type":"event","event":"launcher-gone"}`, "unknown event"},
		{consumeFromLauncher, `{"type":"event","event":"peer-failed","rank":-2}`, "rank -2"},
		{consumeFromLauncher, `{"type":"abort"}`, "unexpected"},
		{consumeFromRank, `{"type":"welcome"}`, "unexpected"},
		{consumeFromRank, `{"type":"hello"}`, "version 0"},
		{consumeFromRank, `{"type":"card","card":"` + strings.Repeat("AAAA", MaxCard/3+1) + `"}`, "card of"},
		{consumeFromRank, `{"type":"abort","text":"` + strings.Repeat("a", maxText+1) + `"}`, "text of"},
		{consumeFromRank, `{"type":"report","text":"v"}`, "key of 0"},
		{consumeFromRank, `{"type":"report","key":"k","text":"` + strings.Repeat("a", maxValue+1) + `"}`, "text of"},
		{consumeFromRank, `{"type":"bell","rank":1048576}`, "bell of local rank 1048576"},
		{consumeFromRank, `[]`, "malformed"},
		{consumeFromRank, ``, "malformed"},
	} {
		if m, err := tc.consume([]byte(tc.line)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.80s: %+v, %v; want an error that says %q", tc.line, m, err, tc.want)
		}
	}
}

// inNet is a welcome that is good but for what its net may be.
func inNet(fields string) string {
	info := testInfo(0, 1)
	m := message{
		Type: typeWelcome, Version: 1, Size: 1, LocalSize: 1, Job: hex.EncodeToString(info.Job[:]), Secret: info.Secret, Cores: 1, ProcRanks: 1,
	}
	line := strings.TrimSuffix(string(appendMessage(nil, m)), "}\n")
	return line + `,"net":{` + fields + `}}`
}

// The largest welcome fits a line.
func TestNetFits(t *testing.T) {
	n := Net{Remote: true, Interface: strings.Repeat("e", maxIface), Ports: "10000-20000", TLS: true, Domain: strings.Repeat("d", relay.MaxDomain)}
	for range MaxGateways {
		n.Gateways = append(n.Gateways, Gateway{strings.Repeat("d", relay.MaxDomain), strings.Repeat("1", maxGateAddr), make([]byte, maxGateKey)})
	}
	m := message{Type: typeWelcome, Secret: make([]byte, SecretSize), Host: strings.Repeat("\x01", maxValue), MetricsAddr: strings.Repeat("\x01", maxValue),
		Bound: strings.Repeat("1", maxBound), Near: strings.Repeat("1", maxList), Net: n.message()}
	if line := appendMessage(nil, m); len(line) > maxLine-4096 {
		t.Errorf("a welcome has %d bytes", len(line))
	}
}

func TestReadLine(t *testing.T) {
	in := "one\n\ntwo\n" + strings.Repeat("x", maxLine-1) + "\nhalf"
	r := bufio.NewReaderSize(strings.NewReader(in), maxLine)
	for _, want := range []int{3, 0, 3, maxLine - 1} {
		if line, err := readLine(r); err != nil || len(line) != want {
			t.Errorf("line of %d bytes, %v; want %d", len(line), err, want)
		}
	}
	if _, err := readLine(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v, want %v", err, io.ErrUnexpectedEOF)
	}
	r = bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", maxLine)+"\n"), maxLine)
	if _, err := readLine(r); !errors.Is(err, errLineTooLong) {
		t.Errorf("%v, want %v", err, errLineTooLong)
	}
}

func TestClip(t *testing.T) {
	for _, tc := range []struct {
		in    string
		limit int
		want  string
	}{{"abc", 3, "abc"}, {"abcd", 3, "abc"}, {"aé", 2, "a"}, {"\xff", 9, "?"}, {"", 0, ""}, {"é", 1, ""}} {
		if got := clip(tc.in, tc.limit); got != tc.want || !utf8.ValidString(got) {
			t.Errorf("clip(%q, %d) = %q, want %q", tc.in, tc.limit, got, tc.want)
		}
	}
}

// fuzzSeeds are one good message of each type and some bad ones.
func fuzzSeeds(f *testing.F) {
	info := testInfo(0, 2)
	welcome := message{
		Type: typeWelcome, Version: 1, Size: 2, LocalSize: 2, Job: hex.EncodeToString(info.Job[:]), Secret: info.Secret, Cores: 1,
		Process: 1, ProcRanks: 2, Bound: "0-3,8", FDs: []string{fdSegment, fdBell},
	}
	info.Net = testNet()
	withNet := welcome
	withNet.Net = info.Net.message()
	for _, m := range []message{
		welcome, withNet,
		{Type: typeCards, Cards: [][]byte{{1}, {}}},
		{Type: typeEvent, Event: "peer-failed", Rank: 1, Text: "x", Code: 137},
		{Type: typeHello, Version: 1, PID: 9},
		{Type: typeCard, Card: []byte{1, 2}},
		{Type: typeFinalizing},
		{Type: typeAbort, Code: 3, Text: "why"},
		{Type: typeReport, Key: "metrics", Text: ":1"},
		{Type: typeBell, Rank: 1},
		{Type: typeBell, Rank: 1, FDs: []string{fdBell}},
		{Type: typeJoin, Version: 1, Rank: 1, Size: 2, PID: 9, Place: &place{Host: "h", Machine: "m", Net: "n", CPUs: "0-3", PID: 9}},
		{Type: typeRefused, Text: "why"},
	} {
		f.Add(bytes.TrimSuffix(appendMessage(nil, m), []byte("\n")))
	}
	f.Add([]byte(`{"type":"cards","first":1048577,"cards":[null]}`))
	f.Add([]byte("{}\n{}"))
}

// wantStable checks that an accepted message fits the line limit and survives its own encoding.
func wantStable(t *testing.T, m message, consume func([]byte) (message, error)) {
	t.Helper()
	line := appendMessage(nil, m)
	again, err := consume(line[:len(line)-1])
	if err == nil && !reflect.DeepEqual(normal(m), normal(again)) || err != nil && len(line) <= maxLine {
		t.Errorf("%+v became %+v, %v", m, again, err)
	}
}

// normal forgets the difference between an absent and an empty byte string, which omitempty does not keep.
func normal(m message) message {
	if len(m.Card) == 0 {
		m.Card = nil
	}
	if len(m.Secret) == 0 {
		m.Secret = nil
	}
	if len(m.Cards) == 0 {
		m.Cards = nil
	}
	if len(m.FDs) == 0 {
		m.FDs = nil
	}
	if n := m.Net.net(); m.Net != nil {
		m.Net = n.message()
	}
	return m
}

func FuzzFromLauncher(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := consumeFromLauncher(line)
		if err != nil {
			return
		}
		wantStable(t, m, consumeFromLauncher)
		s := &session{
			info:  Info{Size: 2},
			table: make([][]byte, 2), missing: 2, cardsc: make(chan struct{}), failc: make(chan struct{}),
			events: make(chan Event, 4), seen: make(map[Event]bool),
		}
		for range 3 { // neither panics nor blocks, also when repeated
			s.handle(line)
		}
	})
}

func FuzzFromRank(f *testing.F) {
	fuzzSeeds(f)
	f.Fuzz(func(t *testing.T, line []byte) {
		if m, err := consumeFromRank(line); err == nil {
			wantStable(t, m, consumeFromRank)
		}
	})
}
