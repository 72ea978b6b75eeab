package wire

import (
	"fmt"
	"strings"
)

var kindNames = [...]string{
	KindEager: "eager", KindRTS: "rts", KindCTS: "cts", KindData: "data", KindAck: "ack", KindCredit: "credit",
	KindCancel: "cancel", KindCancelReply: "cancel-reply", KindBye: "bye", KindHeartbeat: "heartbeat", KindFin: "fin",
	KindSignal: "signal", KindReceived: "received",
}

// String returns the name of the kind, fit for a metric label.
func (k Kind) String() string {
	if int(k) < len(kindNames) && k != 0 {
		return kindNames[k]
	}
	return fmt.Sprintf("wire.Kind(%d)", uint8(k))
}

// String returns the names of the flags with + between them, "" for none.
func (f Flags) String() string {
	var names []string
	for _, n := range []struct {
		flag Flags
		name string
	}{{FlagSync, "sync"}, {FlagObject, "object"}, {FlagDone, "done"}, {FlagPull, "pull"}, {FlagPaused, "paused"}} {
		if f&n.flag != 0 {
			names = append(names, n.name)
			f &^= n.flag
		}
	}
	if f != 0 {
		names = append(names, fmt.Sprintf("wire.Flags(%#x)", uint8(f)))
	}
	return strings.Join(names, "+")
}

// String is for logs and tests: the kind, then what the kind uses under the names that the fields
// have there.
func (h Header) String() string {
	var b strings.Builder
	b.WriteString(h.Kind.String())
	field := func(name string, v any) { fmt.Fprintf(&b, " %s=%v", name, v) }
	switch h.Kind {
	case KindEager, KindRTS:
		field("ctx", fmt.Sprintf("%#x", h.Context))
		field("tag", h.Tag)
		field("len", h.Length)
		if h.Elem != 0 {
			field("elem", h.Elem)
		}
		if h.Kind == KindRTS || h.Flags&FlagSync != 0 {
			field("req", h.ID)
		}
	case KindCTS:
		field("req", h.ID)
		field("xfer", h.Context)
		field("len", h.Length)
	case KindData:
		field("xfer", h.ID)
		field("off", h.Context)
		field("len", h.Length)
	case KindAck, KindCancelReply:
		field("req", h.ID)
	case KindFin:
		field("req", h.ID)
		field("len", h.Length)
	case KindCredit, KindReceived:
		field("len", h.Length)
	case KindSignal:
		field("ctx", fmt.Sprintf("%#x", h.Context))
		field("tag", h.Tag)
		field("len", h.Length)
		field("id", h.ID)
	case KindCancel:
		field("ctx", fmt.Sprintf("%#x", h.Context))
		field("tag", h.Tag)
		field("req", h.ID)
	case KindBye, KindHeartbeat:
	default:
		fmt.Fprintf(&b, " flags=%#x elem=%d tag=%d ctx=%#x len=%d id=%d", uint8(h.Flags), h.Elem, h.Tag, h.Context, h.Length, h.ID)
		return b.String()
	}
	if h.Flags != 0 {
		b.WriteString(" " + h.Flags.String())
	}
	return b.String()
}
