package wire

import "testing"

// agreeOnEager holds ConsumeEager to ConsumeHeader: it takes the Eager frames without FlagSync that
// the other takes, and no others.
func agreeOnEager(t *testing.T, b []byte) {
	t.Helper()
	var h Header
	want := ConsumeHeader(b, &h) == HeaderLen && h.Kind == KindEager && h.Flags&FlagSync == 0
	w, ok := ConsumeEager(b)
	if ok != want {
		t.Fatalf("ConsumeEager(%x) = %v, want %v", b[:min(len(b), HeaderLen)], ok, want)
	}
	if ok && (w.Header() != h || w != h.Words() || w.Flags() != h.Flags || w.Elem() != h.Elem || w.Tag() != h.Tag) {
		t.Fatalf("ConsumeEager(%x) = %v, which is %v, want %v", b[:HeaderLen], w, w.Header(), h)
	}
}

// agreeOnOffer holds IsOffer to ConsumeHeader in the same way.
func agreeOnOffer(t *testing.T, b []byte) bool {
	t.Helper()
	var h Header
	want := ConsumeHeader(b, &h) == HeaderLen && h.Kind == KindRTS && h.Flags&^FlagObject == FlagPull
	w, _ := ConsumeEager(b)
	if got := w.IsOffer(); got != want || got && w.Header() != h {
		t.Fatalf("IsOffer of %x = %v, want %v", b[:min(len(b), HeaderLen)], got, want)
	}
	return want
}

// TestIsOffer is TestConsumeEager of the other question.
func TestIsOffer(t *testing.T) {
	offers := 0
	for _, h := range goldenHeaders {
		b := AppendHeader(nil, &h)
		agreeOnOffer(t, b)
		for bit := range 8 * HeaderLen {
			b[bit/8] ^= 1 << (bit % 8)
			if agreeOnOffer(t, b) {
				offers++
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
	if offers == 0 {
		t.Error("no offer among them")
	}
}

func TestKindOf(t *testing.T) {
	for _, h := range goldenHeaders {
		b := AppendHeader(nil, &h)
		if got := KindOf(b); got != h.Kind {
			t.Errorf("KindOf(%x) = %v, want %v", b, got, h.Kind)
		}
		if got := KindOf(b[:HeaderLen-1]); got != 0 {
			t.Errorf("KindOf of less than a header = %v", got)
		}
	}
}

// TestConsumeEager looks at all headers there are and at those that differ from them by a bit,
// whole and cut.
func TestConsumeEager(t *testing.T) {
	eager := 0
	for _, h := range goldenHeaders {
		b := AppendHeader(nil, &h)
		for i := range HeaderLen {
			agreeOnEager(t, b[:i])
		}
		agreeOnEager(t, b)
		for bit := range 8 * HeaderLen {
			b[bit/8] ^= 1 << (bit % 8)
			agreeOnEager(t, b)
			if _, ok := ConsumeEager(b); ok {
				eager++
			}
			b[bit/8] ^= 1 << (bit % 8)
		}
	}
	if eager == 0 {
		t.Error("no Eager frame among them")
	}
}

func TestEagerWords(t *testing.T) {
	for _, h := range []Header{
		{Kind: KindEager},
		{Kind: KindEager, Flags: FlagObject, Elem: 255, Tag: 1<<31 - 1, Context: 1<<64 - 1, Length: MaxLength},
		{Kind: KindEager, Elem: 3, Tag: 7, Context: 9, Length: 8},
	} {
		if w := EagerWords(h.Flags, h.Elem, h.Tag, h.Context, h.Length); w != h.Words() || w.Header() != h {
			t.Errorf("EagerWords of %v are those of %v", h, w.Header())
		}
	}
}
