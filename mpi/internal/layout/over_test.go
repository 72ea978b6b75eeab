package layout

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestOver compares Over with a look at every value.
func TestOver(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	fits := 0
	for range 5000 {
		g := &generator{source: randomSource{r}, t: t, aligned: 1}
		tileType := goTypes[r.IntN(len(goTypes))]
		if r.IntN(3) == 0 {
			tileType = []reflect.Type{reflect.TypeFor[float64](), reflect.TypeFor[int16](), reflect.TypeFor[byte](), reflect.TypeFor[[6]float32]()}[r.IntN(4)]
		}
		tile := g.made(fmt.Sprint(tileType), naiveOf(tileType))(Of(tileType))
		if r.IntN(4) > 0 {
			// Values that are there, at distances that may lead to others.
			g.leaf = &tile
			if vs := tile.n.values(); len(vs) > 0 && r.IntN(2) == 0 {
				v := vs[r.IntN(len(vs))]
				one := g.made("value", naive{align: 1}.with(naiveBasic(v.kind), v.disp))(Hindexed(Basic(v.kind), []int{1}, []int{v.disp}))
				ext := tile.n.extent()
				leaf := g.made("a value of "+tile.text, one.n.resized(0, ext))(Resized(one.m, 0, ext))
				g.leaf = &leaf
			}
			g.aligned = []int{1, 4, 8, max(1, tile.n.extent())}[r.IntN(4)]
		}
		d := g.next(r.IntN(4))
		count := r.IntN(4)
		at, ok := d.m.Over(tile.m, count)
		bad := misfits(d.n.times(count, d.n.extent()), tile.n)
		if ok != (len(bad) == 0) {
			t.Fatalf("%d of %s over %s: %v (%+v), want %v", count, d.text, tile.text, ok, at, len(bad) == 0)
		}
		if !ok && !bad[at] {
			t.Fatalf("%d of %s over %s: %+v is no mismatch of %v", count, d.text, tile.text, at, bad)
		}
		if ok && d.n.size() > 0 && count > 0 {
			fits++
		}
	}
	if fits < 500 {
		t.Errorf("only %d maps fit: the generator shows too little", fits)
	}
}

// misfits lists the values of n that are not over one of the same kind in the memory that tile is
// repeated in.
func misfits(n, tile naive) map[Mismatch]bool {
	bad := map[Mismatch]bool{}
	period := tile.extent()
	under := map[int]Kind{}
	isBytes := true
	for _, e := range tile.values() {
		under[e.disp] = e.kind
		isBytes = isBytes && (e.kind == Uint8 || e.kind == Byte)
	}
	for _, e := range n.values() {
		if e.kind == Byte || isBytes && len(under) == period && period > 0 {
			continue
		}
		in := 0
		if period > 0 {
			in = (e.disp%period + period) % period
		}
		k, found := under[in]
		switch {
		case !found:
			bad[Mismatch{Disp: e.disp, Data: e.kind, None: true}] = true
		case k != e.kind:
			bad[Mismatch{Disp: e.disp, Data: e.kind, Memory: k}] = true
		}
	}
	return bad
}
