package trace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Recording is what a rank has noted, as far as it is there.
type Recording struct {
	Rank, Ranks int     // of its job
	Job         string  // the name of that, "" of the first of its launcher
	First       int     // number of rank 0 of the job
	Host        string  // where it ran; "" from Decode, which does not know it
	Start       int64   // when the rank opened its ring
	Events      []Event // oldest first
	Open        []Event // of Call: those that have not ended; Span is 0
	Overwritten uint64  // events that were noted and are not kept
	Torn        uint64  // events that were being written when the rank ended
	Missed      uint64  // calls that were not noted, as more than Slots were open at once
	names       []string
}

// Number is that of the rank among all of its launcher.
func (r *Recording) Number() int { return r.First + r.Rank }

// Name is the string that an event names, "" if there is none.
func (r *Recording) Name(id uint16) string {
	if int(id) < len(r.names) {
		return r.names[id]
	}
	return ""
}

// Decode reads the next ring of what a Source has given. io.EOF means that there is none. Any other
// error means that what is there is no recording, or was cut off.
func Decode(from io.Reader) (*Recording, error) {
	var head [pieceSize]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return nil, err
	}
	all, names, events := binary.LittleEndian.Uint64(head[8:]), binary.LittleEndian.Uint64(head[16:]), binary.LittleEndian.Uint64(head[24:])
	if string(head[:8]) != pieceMagic || all > MaxBuffer/eventSize || all == 0 || all&(all-1) != 0 || names > namesSize || events > all {
		return nil, errors.New("trace: this is no recording")
	}
	header, err := readAll(from, headerSize)
	if err != nil {
		return nil, err
	}
	text, err := readAll(from, int(names))
	if err != nil {
		return nil, err
	}
	slots, err := readAll(from, int(events)*eventSize)
	if err != nil {
		return nil, err
	}
	return decode(header, text, slots, all)
}

// readAll reads n bytes, and takes memory as they come: a length that lies costs nothing.
func readAll(from io.Reader, n int) ([]byte, error) {
	const step = 1 << 20
	var b []byte
	for len(b) < n {
		have := len(b)
		b = append(b, make([]byte, min(step, n-have))...)
		if _, err := io.ReadFull(from, b[have:]); err != nil {
			return nil, fmt.Errorf("trace: the recording was cut off: %w", io.ErrUnexpectedEOF)
		}
	}
	return b, nil
}

// decode makes a recording of the parts of a ring with so many slots, of which the used ones are
// given.
func decode(header, names, slots []byte, all uint64) (*Recording, error) {
	o, ok := orderOf(header)
	if !ok {
		return nil, errors.New("trace: a recording of another version, or none")
	}
	r := &Recording{
		Rank: int(o.Uint32(header[rankAt:])), Ranks: int(o.Uint32(header[ranksAt:])),
		Start: int64(o.Uint64(header[startAt:])), Missed: o.Uint64(header[missedAt:]),
		First: int(o.Uint32(header[firstAt:])), Job: strings.ToValidUTF8(string(header[jobAt+1:][:header[jobAt]]), "?"),
	}
	if r.Ranks <= 0 || r.Ranks >= NoPeer || r.Rank >= r.Ranks || r.Rank < 0 || r.Start < 0 {
		return nil, fmt.Errorf("trace: a recording of rank %d of %d, begun at %d", r.Rank, r.Ranks, r.Start)
	}
	r.names = namesOf(names, o)
	r.events(slots, o, o.Uint64(header[nextAt:]), all)
	for at := openAt; at < openAt+Slots*openSize; at += openSize {
		head := uint32(uint16(o.Uint64(header[at+8:])))<<16 | uint32(at-openAt)/openSize<<8 | uint32(Call)
		since := o.Uint64(header[at:])
		if e, ok := eventOf(head, since, 0, o.Uint64(header[at+16:])); ok && since != 0 {
			r.Open = append(r.Open, e)
		}
	}
	return r, nil
}

// events takes the events from slots: those before next that were not overwritten, and are whole.
func (r *Recording) events(slots []byte, o binary.ByteOrder, next, all uint64) {
	n := uint64(len(slots) / eventSize)
	first := uint64(0)
	if next > n {
		first = next - n
	}
	r.Overwritten = first
	r.Events = make([]Event, 0, min(n, next))
	for i := first; i != next; i++ {
		s := slots[i%all%max(n, 1)*eventSize:]
		w0, time, a, b := o.Uint64(s), o.Uint64(s[8:]), o.Uint64(s[16:]), o.Uint64(s[24:])
		e, ok := eventOf(uint32(w0), time, a, b)
		if !ok || uint32(w0>>32) != sum(uint32(w0), time, a, b, i&^(all-1)) {
			r.Torn++
			continue
		}
		r.Events = append(r.Events, e)
	}
}

// namesOf cuts the area of names into strings. The first is that of nothing.
func namesOf(b []byte, o binary.ByteOrder) []string {
	names := []string{""}
	for len(b) >= 2 && len(names) < MaxNames {
		n := int(o.Uint16(b))
		if n > len(b)-2 {
			break
		}
		names = append(names, strings.ToValidUTF8(string(b[2:2+n]), "?"))
		b = b[2+n:]
	}
	return names
}
