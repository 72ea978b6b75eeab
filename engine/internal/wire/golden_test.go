package wire

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files of testdata from what the code does; review the difference")

// golden compares text with a file of testdata. Those files are the test vectors that
// docs/PROTOCOL.md points to: a difference means that this release and the one before it cannot
// talk to each other.
func golden(t *testing.T, name, text string) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("%s differs; the code gives:\n%s", name, text)
	}
}

// goldenHeaders has every kind with every field that it uses.
var goldenHeaders = []Header{
	{Kind: KindEager, Tag: 7, Context: 0x0000_0003_0000_0004, Length: 8},
	{Kind: KindEager, Flags: FlagSync | FlagObject, Elem: 0xa5, Tag: 1<<31 - 1, Context: 1<<64 - 1, Length: 0, ID: 0x0102_0304_0506_0708},
	{Kind: KindRTS, Flags: FlagObject, Elem: 9, Tag: 0x01020304, Context: 2, Length: MaxLength, ID: 42},
	{Kind: KindCTS, Context: 77, Length: 1 << 20, ID: 42},
	{Kind: KindCTS, Context: 78, ID: 43},
	{Kind: KindData, Context: MaxLength - 1, Length: 1, ID: 77},
	{Kind: KindAck, ID: 1<<64 - 1},
	{Kind: KindCredit, Length: 65536},
	{Kind: KindCancel, Tag: 7, Context: 4, ID: 42},
	{Kind: KindCancelReply, Flags: FlagDone, ID: 42},
	{Kind: KindCancelReply, ID: 42},
	{Kind: KindBye},
	{Kind: KindHeartbeat},
	{Kind: KindHeartbeat, Flags: FlagPaused},
	{Kind: KindRTS, Flags: FlagPull, Tag: 7, Context: 2, Length: 1 << 20, ID: 44},
	{Kind: KindFin, Length: 1 << 20, ID: 44},
	{Kind: KindSignal, Tag: 3, Context: 0x0000_0003_0000_0004, Length: MaxSignal, ID: 45},
	{Kind: KindSignal},
	{Kind: KindReceived, Length: MaxStream},
}

func TestHeaderGolden(t *testing.T) {
	var text strings.Builder
	for _, h := range goldenHeaders {
		fmt.Fprintf(&text, "%s\n%x\n", h, AppendHeader(nil, &h))
	}
	golden(t, "headers.golden", text.String())
}

// goldenNonces are not random: the vectors must be the same each time.
func goldenNonces() (dialer, acceptor [32]byte) {
	for i := range 32 {
		dialer[i], acceptor[i] = byte(i), byte(0x80+i)
	}
	return dialer, acceptor
}

func TestHandshakeGolden(t *testing.T) {
	var text strings.Builder
	line := func(name string, b []byte) { fmt.Fprintf(&text, "%s %s\n", name, hex.EncodeToString(b)) }
	for _, v := range []Verdict{VerdictAccept, VerdictDuplicate} {
		d, a := identities()
		if v == VerdictAccept { // of a pair that goes on with its streams
			d.Beat, a.Beat = 1000, 250
			d.Session = sessionOf(Session{Resume: true, Received: 0x0102_0304_0506_0708, Connection: 0x1112_1314})
			a.Session = sessionOf(Session{Resume: true, Received: 1 << 40, Connection: 2})
		}
		nd, na := goldenNonces()
		line("secret", d.Secret)
		p := &pair{t: t, d: NewDialer(d, a.Rank, nd), a: NewAcceptor(a, na)}
		line("HELLO", p.toAcceptor())
		line("CHALLENGE", p.toDialer())
		line("PROOF", p.toAcceptor())
		p.a.Decide(v)
		line("VERDICT "+v.String(), p.toDialer())
	}
	golden(t, "handshake.golden", text.String())
}
