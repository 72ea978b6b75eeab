package mpi

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// mute has no serialised form, deaf none that can be read.
type (
	mute struct{ S string }
	deaf struct{ S string }
)

func (mute) MarshalBinary() ([]byte, error) { return nil, errors.New("it is mute") }
func (*mute) UnmarshalBinary([]byte) error  { return nil }
func (deaf) MarshalBinary() ([]byte, error) { return []byte{1}, nil }
func (*deaf) UnmarshalBinary([]byte) error  { return errors.New("it is deaf") }

// tired is deaf when it has been read as often as reads says.
type tired struct{ S string }

var reads atomic.Int32

func (tired) MarshalBinary() ([]byte, error) { return []byte{1}, nil }
func (*tired) UnmarshalBinary([]byte) error {
	if reads.Add(-1) < 0 {
		return errors.New("it is deaf")
	}
	return nil
}

// An error of serialisation is of class ErrType in every operation and says operation, class, type
// and cause once each.
func TestSerialisationErrorsSayThingsOnce(t *testing.T) {
	ms, ds := []mute{{}}, []deaf{{}}
	first := func(a, _ []mute) {}
	firstDeaf := func(a, _ []deaf) {}
	ops := map[string]func(c *Comm) error{
		"Send":      func(c *Comm) error { return Send(c, ms, 0, 0) },
		"SendValue": func(c *Comm) error { return SendValue(c, mute{}, 0, 0) },
		"Isend":     func(c *Comm) error { _, err := Isend(c, ms, 0, 0).Wait(); return err },
		"Bcast":     func(c *Comm) error { return Bcast(c, ms, 0) },
		"Ibcast":    func(c *Comm) error { _, err := Ibcast(c, ms, 0).Wait(); return err },
		"Gather":    func(c *Comm) error { return Gather(c, ms, ms, 0) },
		"Scatter":   func(c *Comm) error { return Scatter(c, ms, ms, 0) },
		"Allgather": func(c *Comm) error { return Allgather(c, ms, ms) },
		"Alltoall":  func(c *Comm) error { return Alltoall(c, ms, ms) },
		"Allreduce": func(c *Comm) error { return Allreduce(c, ms, ms, first) },
		"Recv": func(c *Comm) error {
			Isend(c, ds, 0, 1).Wait()
			_, err := Recv(c, ds, 0, 1)
			return err
		},
		"RecvNew": func(c *Comm) error {
			Isend(c, ds, 0, 1).Wait()
			_, _, err := RecvNew[deaf](c, 0, 1)
			return err
		},
		"RecvValue": func(c *Comm) error {
			Isend(c, ds, 0, 1).Wait()
			_, _, err := RecvValue[deaf](c, 0, 1)
			return err
		},
		"Reduce": func(c *Comm) error { return Reduce(c, ds, ds, firstDeaf, 0) },
		"Scan":   func(c *Comm) error { return Scan(c, ds, ds, firstDeaf) },
	}
	err := RunThreads(1, func(_ context.Context, c *Comm) error {
		for op, call := range ops {
			wantOnce(t, op, call(c))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// The same, of what a step of a collective and its end decode: a root's word that no other rank can
// read, and a part that comes to one which could read its own.
func TestSerialisationErrorsOfStepsSayThingsOnce(t *testing.T) {
	reads.Store(2) // each rank reads its own
	RunThreads(2, func(_ context.Context, c *Comm) error {
		ds := []deaf{{}}
		if err := Bcast(c, ds, 0); c.Rank() == 1 {
			wantOnce(t, "Bcast", err)
		}
		ts := []tired{{}}
		if err := Reduce(c, ts, ts, func(a, _ []tired) {}, 0); c.Rank() == 0 {
			wantOnce(t, "Reduce", err)
		}
		return nil
	})
}

func wantOnce(t *testing.T, op string, err error) {
	t.Helper()
	if !errors.Is(err, ErrType) {
		t.Errorf("%s: %v, want an error of class %v", op, err, ErrType)
		return
	}
	for _, part := range []string{op + " ", ErrType.String(), "mpi.", "it is "} {
		if n := strings.Count(err.Error(), part); n != 1 {
			t.Errorf("%s: %q is %d times in %q, want it once", op, part, n, err)
		}
	}
}

// What another process sent is of a type that has no name here, and an error says so in whole
// words. The stream is that of []map[string]int{{"a": 1}} from a process that had sent thousands of
// types before.
func TestStrangeTypeIsTold(t *testing.T) {
	const strange = "\x10\xfe\x1f\xbf\x02\x01\x02\xfe\x1f\xc0\x00\x01\xfe\x1f\xbe\x00\x00\x10\xfe\x1f\xbd\x04\x01\x02\xfe\x1f\xbe\x00\x01\f\x01\x04\x00\x00\t\xfe\x1f\xc0\x00\x01\x01\x01a\x02"
	b := binary.LittleEndian.AppendUint64([]byte{byte(codecGob)}, 1)
	_, err := decodeNewObjects[map[string]string](append(b, strange...))
	if want := "cannot decode map[string]string: the sender's elements are of another type"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	b, err = encodeObjects(nil, []map[string]int{{"a": 1}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = decodeNewObjects[map[string]string](b)
	if want := "cannot decode map[string]string: the sender's elements are of another type, map[string]int"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
