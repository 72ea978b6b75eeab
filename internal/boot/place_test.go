//go:build linux && !fitmpi_portable

package boot

import (
	"reflect"
	"slices"
	"testing"
)

func TestArrange(t *testing.T) {
	places := []place{
		{Host: "a", Machine: "1", Net: "n", CPUs: "0-3", PID: 10},
		{Host: "b", Machine: "2", Net: "n", CPUs: "0-7", PID: 10},
		{Host: "a", Machine: "1", Net: "n", CPUs: "2-5", PID: 11}, // shares two processors with rank 0
		{Host: "a", Machine: "1", Net: "n", CPUs: "6-7", PID: 12}, // alone on its own
		{Host: "pod", Machine: "1", Net: "m", CPUs: "", PID: 10},  // in a container of the first machine
	}
	got := arrange(places)
	for r, want := range []Info{
		{LocalRank: 0, LocalSize: 3, Cores: 2, local: []int{0, 2, 3}},
		{LocalRank: 0, LocalSize: 1, Cores: 8, local: []int{1}},
		{LocalRank: 1, LocalSize: 3, Cores: 2, local: []int{0, 2, 3}},
		{LocalRank: 2, LocalSize: 3, Cores: 2, local: []int{0, 2, 3}, Bound: []int{6, 7}},
		{LocalRank: 0, LocalSize: 1, Cores: 1, local: []int{4}},
	} {
		want.Rank, want.Size, want.Host = r, len(places), places[r].Host
		want.Process, want.ProcessRanks, want.Net.Remote = want.LocalRank, 1, true
		if !reflect.DeepEqual(got[r], want) {
			t.Errorf("rank %d: %+v, want %+v", r, got[r], want)
		}
	}
	for r, info := range arrange(slices.Clone(places[:1])) {
		if info.Net.Remote || info.LocalSize != 1 {
			t.Errorf("rank %d of one host: %+v", r, info)
		}
	}
}

func TestPlaceRefused(t *testing.T) {
	for _, p := range []place{
		{Host: string(make([]byte, maxValue+1))}, {Machine: string(make([]byte, maxValue+1))}, {Net: string(make([]byte, maxValue+1))},
		{CPUs: string(make([]byte, maxBound+1))}, {CPUs: "3-1"}, {CPUs: "x"},
	} {
		if err := p.check(); err == nil {
			t.Errorf("%.60v passed", p)
		}
	}
}
