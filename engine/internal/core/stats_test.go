package core

import (
	"math"
	"testing"
)

func TestSizeClass(t *testing.T) {
	for _, test := range []struct{ n, class int }{
		{0, SizeClasses - 1}, {1, 0}, {2, 1}, {4, 1}, {5, 2}, {16, 2}, {17, 3}, {1 << 30, 15}, {1<<30 + 1, 16}, {math.MaxInt, 32},
	} {
		if got := SizeClass(test.n); got != test.class && test.n != math.MaxInt {
			t.Errorf("%d bytes are in class %d, want %d", test.n, got, test.class)
		} else if got >= SizeClasses {
			t.Errorf("%d bytes are in class %d, there are %d", test.n, got, SizeClasses)
		}
	}
}
