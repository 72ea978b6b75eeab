package params

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseSize reads a number of bytes such as 4096, 64K or 16M.
func ParseSize(s string) (int, error) {
	digits, unit := s, 1
	if i := len(s) - 1; i > 0 {
		if k := strings.IndexByte("KMG", s[i]&^0x20); k >= 0 && s[i] >= 'A' {
			digits, unit = s[:i], 1<<(10*(k+1))
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n <= 0 || n > (1<<46)/unit {
		return 0, fmt.Errorf("size %q: need a positive number of bytes, such as 65536, 64K or 16M", s)
	}
	return n * unit, nil
}

// FormatSize is the shortest text that ParseSize takes for n.
func FormatSize(n int) string {
	for k := 3; k > 0; k-- {
		if unit := 1 << (10 * k); n >= unit && n%unit == 0 {
			return strconv.Itoa(n/unit) + "KMG"[k-1:k]
		}
	}
	return strconv.Itoa(n)
}

// ParseNumber reads a number from 1.
func ParseNumber(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q: need a number from 1", s)
	}
	return n, nil
}

// ParseDuration is time.ParseDuration with an error that says what is wanted.
func ParseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%q is no duration: want a number with a unit, for example 30s, 500ms or 2m", s)
	}
	return d, nil
}
