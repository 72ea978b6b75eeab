package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// ParseSizes reads sizes such as 8,64K,1M.
func ParseSizes(s string) ([]int, error) {
	var sizes []int
	for f := range strings.SplitSeq(s, ",") {
		digits, unit := strings.TrimSpace(f), 1
		if i := strings.IndexAny(digits, "KMG"); i >= 0 && i == len(digits)-1 {
			unit = 1 << (10 * (1 + strings.IndexByte("KMG", digits[i])))
			digits = digits[:i]
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 || n > (1<<40)/unit {
			return nil, fmt.Errorf("size %q: need bytes such as 8, 64K or 1M", f)
		}
		sizes = append(sizes, n*unit)
	}
	return sizes, nil
}

// Repetitions is how often a measurement with messages of this size is repeated, unless the user
// says.
func Repetitions(size int) int {
	switch {
	case size <= 4<<10:
		return 5000
	case size <= 64<<10:
		return 2000
	case size <= 1<<20:
		return 300
	}
	return 40
}
