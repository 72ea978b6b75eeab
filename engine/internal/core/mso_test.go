package core

import (
	"reflect"
	"testing"
)

// What a message that has come before its receive needs lies in two lines of the cache.
func TestHotHalf(t *testing.T) {
	typ, hot := reflect.TypeFor[MSO](), uintptr(128)
	links, _ := typ.FieldByName("links")
	for _, name := range []string{"state", "Kind", "plain", "Peer", "Tag", "Ctx", "Buf", "Length", "seq", "remote", "next", "own", "via", "sync", "ended", "fetch"} {
		if x, ok := typ.FieldByName(name); !ok || x.Offset+x.Type.Size() > hot {
			t.Errorf("%s ends at byte %d", name, x.Offset+x.Type.Size())
		}
	}
	if end := links.Offset + links.Type.Elem().Size(); end > hot {
		t.Errorf("the first link ends at byte %d", end)
	}
}

// An MSO that is free is blank, whatever the message was that it stood for.
func TestFreeIsBlank(t *testing.T) {
	f := newNet(t, 2, Config{ShortMax: 30})
	f.connectAll()
	sends := []*MSO{
		{Elem: 3, Tag: 1, Buf: pattern(20, 1)},
		{Object: true, Tag: 2, Buf: pattern(20, 2)},
		{Mode: Synchronous, Tag: 3, Buf: pattern(20, 3)},
		{Tag: 4},
		{Tag: 5, Buf: pattern(500, 5)},
	}
	for _, s := range sends {
		s.Kind, s.Peer, s.Ctx = KindSend, 1, 7
		f.post(0, s)
	}
	f.run()
	for _, s := range sends {
		r := &MSO{Kind: KindRecv, Peer: 0, Tag: s.Tag, Ctx: 7, Buf: make([]byte, 500)}
		f.post(1, r)
		f.run()
		if r.Err != nil || r.GotElem != s.Elem || r.GotObject != s.Object || r.Length != len(s.Buf) {
			t.Errorf("tag %d: %v, class %d, object %v, %d bytes", s.Tag, r.Err, r.GotElem, r.GotObject, r.Length)
		}
	}
	f.wantRest("all is received")
}
