//go:build linux && !fitmpi_portable

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
		{consumeFromLauncher, `{"type":"welcome","v":1}`, "job of 0 ranks; 1 to 1048576 are allowed"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":1048577}`, "job of 1048577 ranks; 1 to 1048576 are allowed"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":4,"rank":4}`, "rank 4 in a job of 4"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":4,"rank":-1}`, "rank -1 in a job of 4"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":4,"local_size":5}`, "local rank 0 of 5 in a job of 4"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":1,"local_size":1,"secret":"AA==","cores":1}`, "secret of 1 bytes, want 32"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":1,"local_size":1,` + secret + `}`, "0 cores for a rank; each has 1 or more"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":1,"local_size":1,"cores":1,` + secret + `}`, "process 0 with 0 ranks on a host with 1 ranks; processes count from 0, and each has 1 rank or more"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":1,"local_size":1,"process_ranks":1,"attempt":-1,"cores":1,` + secret + `}`, "attempt -1; they count from 0"},
		{consumeFromLauncher, `{"type":"welcome","v":1,"size":2,"local_size":1,"universe":1,"cores":1,` + secret + `}`, "room for 1 ranks in a job of 2; the room is 0, if it is not known, or 2 to 1048576"},
		{consumeFromLauncher, good + `,"universe":1048577}`, "room for 1048577 ranks in a job of 1; the room is 0, if it is not known, or 1 to 1048576"},
		{consumeFromLauncher, good + `,"process_ranks":2}`, "process 0 with 2 ranks on a host with 1 ranks; processes count from 0, and each has 1 rank or more"},
		{consumeFromLauncher, good + `,"process_ranks":1,"process":1}`, "process 1 with 1 ranks on a host with 1 ranks; processes count from 0, and each has 1 rank or more"},
		{consumeFromLauncher, good + `,"process_ranks":1,"bound":"3-1"}`, `"3-1" is not a list of processors such as 0-3,8`},
		{consumeFromLauncher, good + `,"process_ranks":1,"bound":"` + strings.Repeat("1", maxBound+1) + `"}`, "list of processors of 16385 bytes; at most 16384 are allowed"},
		{consumeFromLauncher, good + `,"process_ranks":1,"roam":"3-1"}`, `"3-1" is not a list of processors such as 0-3,8`},
		{consumeFromLauncher, good + `,"process_ranks":1,"roam":"` + strings.Repeat("1", maxRoam+1) + `"}`, "list of processors for what moves messages of 4097 bytes; at most 4096 are allowed"},
		{consumeFromLauncher, good + `,"process_ranks":1,"fds":["a","b","c","d","e"]}`, "message with 5 descriptors; at most 4 are allowed"},
		{consumeFromLauncher, good + `,"process_ranks":1}`, "job id of 0 characters, want 32"},
		{consumeFromLauncher, good + `,"process_ranks":1,"near":"1-0"}`, `ranks "1-0" on the host of rank 0, which is local rank 0 of 1`},
		{consumeFromLauncher, good + `,"process_ranks":1,"near":"0-1"}`, `ranks "0-1" on the host of rank 0, which is local rank 0 of 1`},
		{consumeFromLauncher, good + `,"process_ranks":1,"near":"1"}`, `ranks "1" on the host of rank 0, which is local rank 0 of 1`},
		{consumeFromLauncher, good + `,"process_ranks":1,"near":"0` + strings.Repeat(",0", maxList) + `"}`, `ranks "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0," on the host of rank 0, which is local rank 0 of 1`},
		{consumeFromLauncher, `{"type":"refused","text":"` + strings.Repeat("a", maxText+1) + `"}`, "text of 8193 bytes; at most 8192 are allowed"},
		{consumeFromLauncher, `{"type":"join","v":1,"size":1,"place":{}}`, `unexpected message of type "join" from the launcher`},
		{consumeFromRank, `{"type":"join","size":1,"place":{}}`, "boot protocol version 0 at the other end, 1 here: use a program and a fitrun of one FitMPI version"},
		{consumeFromRank, `{"type":"join","v":1,"place":{}}`, "rank 0 joins a job of 0"},
		{consumeFromRank, `{"type":"join","v":1,"rank":-1,"size":2,"place":{}}`, "rank -1 joins a job of 2"},
		{consumeFromRank, `{"type":"join","v":1,"rank":2,"size":2,"place":{}}`, "rank 2 joins a job of 2"},
		{consumeFromRank, `{"type":"join","v":1,"rank":1,"size":2000000,"place":{}}`, "rank 1 joins a job of 2000000"},
		{consumeFromRank, `{"type":"join","v":1,"rank":1,"size":2}`, "rank 1 does not say where it is"},
		{consumeFromRank, `{"type":"join","v":1,"rank":1,"size":2,"place":{"cpus":"x"}}`, `"x" is not a list of processors such as 0-3,8`},
		{consumeFromRank, `{"type":"join","v":1,"rank":1,"size":2,"place":{"host":"` + strings.Repeat("h", maxValue+1) + `"}}`, "a place with names of 1025, 0 and 0 bytes and a list of processors of 0; at most 1024 and 16384 are allowed"},
		{consumeFromRank, `{"type":"refused"}`, `unexpected message of type "refused" from a rank`},
		{consumeFromLauncher, inNet(`"iface":"eth0,,"`), `"" is neither the name of an interface nor an address nor a network`},
		{consumeFromLauncher, inNet(`"iface":"` + strings.Repeat("e,", maxIface/2) + `e"`), "list of interfaces of 1025 bytes; at most 1024 are allowed"},
		{consumeFromLauncher, inNet(`"ports":"9-3"`), `"9-3" is no range of ports: write FROM-TO, such as 40000-40999, within 1 and 65535`},
		{consumeFromLauncher, inNet(`"domain":"a b"`), `domain "a b": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{consumeFromLauncher, inNet(`"domain":"` + strings.Repeat("a", relay.MaxDomain+1) + `"`), `domain "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[` + strings.Repeat(`{},`, MaxGateways) + `{}]`), "65 gateways; at most 64 are allowed"},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":""}]`), `gateway 0: domain "": want 1 to 64 letters, digits, hyphens, dots or underscores`},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"a"}]`), `gateway 0: it leads to domain "a", and the rank is in "a"`},
		{consumeFromLauncher, inNet(`"gateways":[{"domain":"a"}]`), `gateway 0: it leads to domain "a", and the rank is in ""`},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"b","addr":"there:80"}]`), `gateway 0: "there:80" is no IP address with a port`},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"b","addr":"1.2.3.4:0"}]`), `gateway 0: "1.2.3.4:0" is no IP address with a port`},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"b","addr":"` + strings.Repeat("1", maxGateAddr+1) + `"}]`), "gateway 0: address of 129 bytes; at most 128 are allowed"},
		{consumeFromLauncher, inNet(`"domain":"a","gateways":[{"domain":"b","addr":"1.2.3.4:5","key":"AAAA"}]`), "gateway 0: key of 3 bytes; 16 to 64 are allowed"},
		{consumeFromLauncher, good + `,"process_ranks":1,"app":1}`, "program 1 of a job of 1 ranks; programs count from 0, and each has 1 rank or more"},
		{consumeFromLauncher, good + `,"process_ranks":1,"job":"abc"}`, "job id of 3 characters, want 32"},
		{consumeFromLauncher, good + `,"process_ranks":1,"job":"` + strings.Repeat("x", 32) + `"}`, "job id: encoding/hex: invalid byte: U+0078 'x'"},
		{consumeFromLauncher, `{"type":"bell","rank":-1}`, "bell of local rank -1; want 0 to 1048575"},
		{consumeFromLauncher, `{"type":"welcome","v":9,` + job + `}`, "boot protocol version 9 at the other end, 1 here: use a program and a fitrun of one FitMPI version"},
		{consumeFromLauncher, `{"type":"cards"}`, "0 cards from rank 0 on; want 1 or more, from rank 0 to 1048576 on"},
		{consumeFromLauncher, `{"type":"cards","first":-1,"cards":["AA=="]}`, "1 cards from rank -1 on; want 1 or more, from rank 0 to 1048576 on"},
		{consumeFromLauncher, `{"type":"event","event":"launcher-gone"}`, `unknown event "launcher-gone"`},
		{consumeFromLauncher, `{"type":"event","event":"peer-failed","rank":-2}`, "event about rank -2; want 0 to 1048575, or -1 if it is about none"},
		{consumeFromLauncher, `{"type":"event","event":"peer-failed","rank":1048576}`, "event about rank 1048576; want 0 to 1048575, or -1 if it is about none"},
		{consumeFromLauncher, `{"type":"cards","first":1048577,"cards":["AA=="]}`, "1 cards from rank 1048577 on; want 1 or more, from rank 0 to 1048576 on"},
		{consumeFromLauncher, `{"type":"cards","first":2,"cards":["","` + strings.Repeat("AAAA", MaxCard/3+1) + `"]}`, "card of rank 3 of 16386 bytes; at most 16384 are allowed"},
		{consumeFromLauncher, `{"type":"abort"}`, `unexpected message of type "abort" from the launcher`},
		{consumeFromRank, `{"type":"welcome"}`, `unexpected message of type "welcome" from a rank`},
		{consumeFromRank, `{"type":"hello"}`, "boot protocol version 0 at the other end, 1 here: use a program and a fitrun of one FitMPI version"},
		{consumeFromRank, `{"type":"card","card":"` + strings.Repeat("AAAA", MaxCard/3+1) + `"}`, "card of 16386 bytes; at most 16384 are allowed"},
		{consumeFromRank, `{"type":"abort","text":"` + strings.Repeat("a", maxText+1) + `"}`, "text of 8193 bytes; at most 8192 are allowed"},
		{consumeFromRank, `{"type":"report","text":"v"}`, "report with a key of 0 bytes; 1 to 64 are allowed"},
		{consumeFromRank, `{"type":"report","key":"k","text":"` + strings.Repeat("a", maxValue+1) + `"}`, "text of 1025 bytes; at most 1024 are allowed"},
		{consumeFromRank, `{"type":"bell","rank":1048576}`, "bell of local rank 1048576; want 0 to 1048575"},
		{consumeFromRank, `{"type":"suspect","rank":-1}`, "suspicion of rank -1; want 0 to 1048575"},
		{consumeFromRank, `{"type":"suspect","rank":1048576}`, "suspicion of rank 1048576; want 0 to 1048575"},
		{consumeFromRank, `{"type":"suspect","text":"` + strings.Repeat("a", maxValue+1) + `"}`, "text of 1025 bytes; at most 1024 are allowed"},
		{consumeFromRank, `{"type":"answer"}`, "answer of 0 bytes; 1 to 61440 are allowed"},
		{consumeFromRank, `{"type":"report","key":"` + strings.Repeat("k", maxKey+1) + `"}`, "report with a key of 65 bytes; 1 to 64 are allowed"},
		{consumeFromRank, `"` + strings.Repeat("x", maxLine) + `"`, "message longer than 65536 bytes"},
		{consumeFromRank, `[]`, "malformed message: json: cannot unmarshal array into Go value of type boot.message"},
		{consumeFromRank, ``, "malformed message: unexpected end of JSON input"},
	} {
		if _, err := tc.consume([]byte(tc.line)); err == nil || err.Error() != tc.want {
			t.Errorf("%.120s:\n %v, want\n %s", tc.line, err, tc.want)
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
		Bound: strings.Repeat("1", maxBound), Roam: strings.Repeat("1", maxRoam), Local: strings.Repeat("1", maxList), Net: n.message()}
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
		Process: 1, ProcRanks: 2, Bound: "0-3,8", Roam: "0-8", FDs: []string{fdSegment, fdBell},
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

// normal forgets the difference between an absent and an empty byte string, which omitempty does
// not keep.
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
