//go:build linux && !fitmpi_portable

package mpi

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/fitmpi/fitmpi/internal/boot"
)

// FuzzCards: whatever a rank has written on its card, the others make a table of it or say what is
// wrong with it.
func FuzzCards(f *testing.F) {
	for _, c := range append(hostOf(4, 2, 2), hostOf(2, 1, 0)...) {
		b, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	f.Add([]byte(`{"addrs":"127.0.0.1:1,[::1]:2","domain":"west"}`), []byte(`{"addrs":"10.0.0.1:70000"}`))
	f.Add([]byte(`{"addrs":"1.2.3.4:5","index":-7,"clique":-1,"bound":[9,-9,1,2]}`), []byte(`{"addrs":"1.2.3.4:5","index":1099511627776}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		cards, err := readCards([][]byte{a, b, a})
		if err != nil {
			return
		}
		w := newWorld(&boot.Info{Net: boot.Net{Domain: cards[0].Domain}}, nil)
		for me := range cards {
			peers, err := bridge(cards, me, w)
			if err != nil {
				return
			}
			if len(peers) != len(cards) || wayOf(&cards[0], &cards[1]) != wayOf(&cards[1], &cards[0]) {
				t.Fatalf("rank %d: %+v", me, peers)
			}
			_ = checkShared(cards, peers, me, nil)
		}
		nodes := nodesOf(cards)
		levelsOf(cards, nodes)
	})
}

// FuzzUnpack: whatever bytes a program got from somewhere, Unpack takes what fits, leaves what
// follows and touches nothing else; and packed again they are the same.
func FuzzUnpack(f *testing.F) {
	f.Add([]byte{}, uint8(0), uint8(1))
	f.Add(bytes.Repeat([]byte{1, 2, 3}, 40), uint8(3), uint8(2))
	f.Add(bytes.Repeat([]byte{0xff}, 100), uint8(7), uint8(5))
	f.Fuzz(func(t *testing.T, src []byte, count, stride uint8) {
		vector := Vector(int(count%8), 2, 2+int(stride%8), TypeOf[int32]())
		dst := make([]int32, 128)
		for _, both := range []struct {
			unpack func([]byte, []int32, *Datatype) ([]byte, error)
			pack   func([]byte, []int32, *Datatype) ([]byte, error)
		}{{Unpack[int32], Pack[int32]}, {UnpackExternal[int32], PackExternal[int32]}} {
			rest, err := both.unpack(src, dst, vector)
			if err != nil {
				continue
			}
			again, err := both.pack(nil, dst, vector)
			if err != nil || !bytes.Equal(append(again, rest...), src) {
				t.Fatalf("%v: %x and a rest of %d bytes of %x", err, again, len(rest), src)
			}
		}
	})
}
