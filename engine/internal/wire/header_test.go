package wire

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range goldenHeaders {
		b := AppendHeader([]byte("before"), &h)
		b = append(b, "after"...)
		var got Header
		if n := ConsumeHeader(b[len("before"):], &got); n != HeaderLen || got != h {
			t.Errorf("%v came back as %v, n = %d", h, got, n)
		}
		if string(b[:6]) != "before" || string(b[6+HeaderLen:]) != "after" {
			t.Errorf("%v was written over its neighbours", h)
		}
	}
}

func TestHeaderTruncated(t *testing.T) {
	for _, h := range goldenHeaders {
		b := AppendHeader(nil, &h)
		for i := range HeaderLen {
			got := Header{Tag: 99}
			if n := ConsumeHeader(b[:i], &got); n != 0 || got != (Header{Tag: 99}) {
				t.Fatalf("%d bytes of %v: n = %d, header %v; want to wait", i, h, n, got)
			}
		}
	}
}

func TestHeaderMalformed(t *testing.T) {
	eager := func() []byte { return AppendHeader(nil, &Header{Kind: KindEager}) }
	for _, tt := range []struct {
		name string
		b    []byte
		want Code
	}{
		{"all zero", make([]byte, HeaderLen), CodeBadVersion},
		{"next version", append([]byte{Version + 1}, eager()[1:]...), CodeBadVersion},
		{"kind 0", AppendHeader(nil, &Header{Kind: 0}), CodeUnknownKind},
		{"kind 14", AppendHeader(nil, &Header{Kind: maxKind + 1}), CodeUnknownKind},
		{"kind 15", AppendHeader(nil, &Header{Kind: 15}), CodeUnknownKind},
		{"kind that shares the slot of eager", AppendHeader(nil, &Header{Kind: 0x11}), CodeUnknownKind},
		{"kind 255", AppendHeader(nil, &Header{Kind: 255}), CodeUnknownKind},
		{"eager done", AppendHeader(nil, &Header{Kind: KindEager, Flags: FlagDone}), CodeBadFlags},
		{"eager with an unknown flag", AppendHeader(nil, &Header{Kind: KindEager, Flags: 0x80}), CodeBadFlags},
		{"data of an object", AppendHeader(nil, &Header{Kind: KindData, Flags: FlagObject, Length: 1}), CodeBadFlags},
		{"synchronous bye", AppendHeader(nil, &Header{Kind: KindBye, Flags: FlagSync}), CodeBadFlags},
		{"CTS with a class", AppendHeader(nil, &Header{Kind: KindCTS, Elem: 1}), CodeBadElem},
		{"eager with a wildcard tag", AppendHeader(nil, &Header{Kind: KindEager, Tag: -1}), CodeBadTag},
		{"cancel with a wildcard tag", AppendHeader(nil, &Header{Kind: KindCancel, Tag: -1}), CodeBadTag},
		{"data with a tag", AppendHeader(nil, &Header{Kind: KindData, Tag: 1, Length: 1}), CodeBadTag},
		{"data beyond the end of any message", AppendHeader(nil, &Header{Kind: KindData, Context: MaxLength, Length: 1}), CodeBadContext},
		{"heartbeat with a context", AppendHeader(nil, &Header{Kind: KindHeartbeat, Context: 1}), CodeBadContext},
		{"ack with a length", AppendHeader(nil, &Header{Kind: KindAck, Length: 1}), CodeBadLength},
		{"ack with an endless length", AppendHeader(nil, &Header{Kind: KindAck, Length: 1 << 63}), CodeBadLength},
		{"eager too long", AppendHeader(nil, &Header{Kind: KindEager, Length: MaxLength + 1}), CodeTooLong},
		{"RTS of a negative length", AppendHeader(nil, &Header{Kind: KindRTS, Length: 1<<64 - 1}), CodeTooLong},
		{"signal too long", AppendHeader(nil, &Header{Kind: KindSignal, Length: MaxSignal + 1}), CodeTooLong},
		{"signal with a class", AppendHeader(nil, &Header{Kind: KindSignal, Elem: 1}), CodeBadElem},
		{"synchronous signal", AppendHeader(nil, &Header{Kind: KindSignal, Flags: FlagSync}), CodeBadFlags},
		{"received beyond any stream", AppendHeader(nil, &Header{Kind: KindReceived, Length: MaxStream + 1}), CodeTooLong},
		{"received with an id", AppendHeader(nil, &Header{Kind: KindReceived, ID: 1}), CodeBadID},
		{"data of no bytes", AppendHeader(nil, &Header{Kind: KindData}), CodeZeroLength},
		{"no credit", AppendHeader(nil, &Header{Kind: KindCredit}), CodeZeroLength},
		{"plain eager with an id", AppendHeader(nil, &Header{Kind: KindEager, ID: 1}), CodeBadID},
		{"bye with an id", AppendHeader(nil, &Header{Kind: KindBye, ID: 1}), CodeBadID},
	} {
		h := Header{Tag: 99}
		if n := ConsumeHeader(tt.b, &h); Code(n) != tt.want {
			t.Errorf("%s: n = %d (%v), want %v", tt.name, n, Code(n), tt.want)
		}
		if h != (Header{Tag: 99}) {
			t.Errorf("%s: a refused header was stored", tt.name)
		}
	}
}

// wantCode is the table of docs/PROTOCOL.md, said a second time and slowly.
func wantCode(version byte, h *Header) Code {
	type fields struct {
		flags                 Flags
		elem, tag, ctx, n, id bool
	}
	uses, known := map[Kind]fields{
		KindEager:       {flags: FlagSync | FlagObject, elem: true, tag: true, ctx: true, n: true, id: h.Flags&FlagSync != 0},
		KindRTS:         {flags: FlagSync | FlagObject | FlagPull, elem: true, tag: true, ctx: true, n: true, id: true},
		KindCTS:         {ctx: true, n: true, id: true},
		KindData:        {ctx: true, n: true, id: true},
		KindAck:         {id: true},
		KindCredit:      {n: true},
		KindCancel:      {tag: true, ctx: true, id: true},
		KindCancelReply: {flags: FlagDone, id: true},
		KindBye:         {},
		KindHeartbeat:   {flags: FlagPaused},
		KindFin:         {n: true, id: true},
		KindSignal:      {tag: true, ctx: true, n: true, id: true},
		KindReceived:    {n: true},
	}[h.Kind]
	longest := uint64(1 << 46)
	switch h.Kind {
	case KindSignal:
		longest = 4096
	case KindReceived:
		longest = 1 << 62
	}
	switch {
	case version != 2:
		return CodeBadVersion
	case !known:
		return CodeUnknownKind
	case h.Flags&^uses.flags != 0:
		return CodeBadFlags
	case !uses.elem && h.Elem != 0:
		return CodeBadElem
	case !uses.tag && h.Tag != 0 || h.Tag < 0:
		return CodeBadTag
	case !uses.ctx && h.Context != 0 || h.Kind == KindData && h.Context >= 1<<46:
		return CodeBadContext
	case !uses.n && h.Length != 0:
		return CodeBadLength
	case h.Length > longest:
		return CodeTooLong
	case (h.Kind == KindData || h.Kind == KindCredit) && h.Length == 0:
		return CodeZeroLength
	case !uses.id && h.ID != 0:
		return CodeBadID
	}
	return 0
}

func TestHeaderRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.OneOf(rapid.Just(uint64(0)), rapid.Just(uint64(1)), rapid.Uint64Range(MaxLength-1, MaxLength+1), rapid.Uint64Range(MaxSignal-1, MaxSignal+1),
			rapid.Uint64Range(MaxStream-1, MaxStream+1), rapid.Uint64())
		h := Header{
			Kind:    Kind(rapid.OneOf(rapid.Uint8Range(0, 14), rapid.Uint8()).Draw(t, "kind")),
			Flags:   Flags(rapid.OneOf(rapid.Just(uint8(0)), rapid.Uint8Range(0, 8), rapid.Uint8()).Draw(t, "flags")),
			Elem:    rapid.OneOf(rapid.Just(uint8(0)), rapid.Uint8()).Draw(t, "elem"),
			Tag:     rapid.OneOf(rapid.Just(int32(0)), rapid.Int32()).Draw(t, "tag"),
			Context: number.Draw(t, "context"),
			Length:  number.Draw(t, "length"),
			ID:      number.Draw(t, "id"),
		}
		b := AppendHeader(nil, &h)
		b[0] = rapid.OneOf(rapid.Just(byte(Version)), rapid.Byte()).Draw(t, "version")
		want := wantCode(b[0], &h)
		var got Header
		n := ConsumeHeader(b, &got)
		switch {
		case want != 0 && Code(n) != want:
			t.Fatalf("n = %d (%v), want %v", n, Code(n), want)
		case want == 0 && (n != HeaderLen || got != h):
			t.Fatalf("n = %d (%v), header %v", n, Code(n), got)
		}
	})
}

func TestHeaderPayloadLen(t *testing.T) {
	for _, h := range goldenHeaders {
		want := 0
		if h.Kind == KindEager || h.Kind == KindData || h.Kind == KindSignal {
			want = int(h.Length)
		}
		if got := h.PayloadLen(); got != want {
			t.Errorf("%v: %d bytes follow, want %d", h, got, want)
		}
	}
}

func TestHeaderNoAllocation(t *testing.T) {
	b := make([]byte, 0, 4*HeaderLen)
	h := goldenHeaders[1]
	bad := AppendHeader(nil, &Header{Kind: KindBye, ID: 1})
	if n := testing.AllocsPerRun(1000, func() {
		p := AppendHeader(b, &h)
		PutHeader(p, &h)
		ConsumeHeader(p, &h)
		ConsumeHeader(bad, &h)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestStrings(t *testing.T) {
	seen := make(map[string]bool)
	once := func(s fmt.Stringer) {
		t.Helper()
		if s.String() == "" || seen[s.String()] {
			t.Errorf("%#v is named %q, as something else", s, s)
		}
		seen[s.String()] = true
	}
	for k := Kind(0); k <= maxKind+1; k++ {
		once(k)
	}
	clear(seen)
	for c := Code(1); c >= CodeBadID-1; c-- {
		once(c)
	}
	clear(seen)
	for s := State(0); s <= StateFailed+1; s++ {
		once(s)
	}
	clear(seen)
	for v := Verdict(0); v <= maxVerdict+1; v++ {
		once(v)
	}
	clear(seen)
	for r := RejectNone; r <= RejectLast+1; r++ {
		once(r)
		if r.Text() == "" {
			t.Errorf("%v has no text", r)
		}
	}
	if got := (FlagSync | FlagDone | 0x40).String(); got != "sync+done+wire.Flags(0x40)" {
		t.Errorf("flags are named %q", got)
	}
	if got, want := (Header{Kind: 99, ID: 5}).String(), "wire.Kind(99) flags=0x0 elem=0 tag=0 ctx=0x0 len=0 id=5"; got != want {
		t.Errorf("unknown header is %q, want %q", got, want)
	}
}

// What ConsumeHeader accepts, AppendHeader writes back byte for byte; what it refuses, it refuses
// with a known reason.
func FuzzConsumeHeader(f *testing.F) {
	for _, h := range goldenHeaders {
		f.Add(AppendHeader(nil, &h))
	}
	f.Add([]byte("GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h Header
		n := ConsumeHeader(b, &h)
		agreeOnEager(t, b)
		switch {
		case n == 0:
			if len(b) >= HeaderLen {
				t.Fatalf("waits for more than %d bytes", len(b))
			}
		case n < 0:
			if c := Code(n); c < CodeBadID {
				t.Fatalf("unknown reason %v", c)
			}
		case n != HeaderLen:
			t.Fatalf("n = %d", n)
		default:
			if got := AppendHeader(nil, &h); !bytes.Equal(got, b[:n]) {
				t.Fatalf("%x became %x (%v)", b[:n], got, h)
			}
			if p := h.PayloadLen(); p < 0 || p > MaxLength {
				t.Fatalf("%v: %d bytes of payload", h, p)
			}
		}
	})
}

func BenchmarkPutHeader(b *testing.B) {
	buf := make([]byte, HeaderLen)
	h := goldenHeaders[0]
	b.ReportAllocs()
	for b.Loop() {
		PutHeader(buf, &h)
	}
}

func BenchmarkConsumeHeader(b *testing.B) {
	for _, h := range []Header{goldenHeaders[0], goldenHeaders[3], goldenHeaders[5]} {
		b.Run(h.Kind.String(), func(b *testing.B) {
			buf := AppendHeader(nil, &h)
			b.ReportAllocs()
			for b.Loop() {
				if ConsumeHeader(buf, &h) != HeaderLen {
					b.Fatal("refused")
				}
			}
		})
	}
}
