package bench

import (
	"slices"
	"testing"
)

func TestParseSizes(t *testing.T) {
	got, err := ParseSizes("0,8, 1K,64K,1M,2G")
	if want := []int{0, 8, 1 << 10, 64 << 10, 1 << 20, 2 << 30}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
