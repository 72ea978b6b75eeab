package sys

import (
	"fmt"
	"strconv"
	"strings"
)

// maxListed is how many processors ParseCPUs takes; the largest machines that Linux knows have
// fewer.
const maxListed = 1 << 16

// FormatCPUs puts ascending processor numbers as the kernel lists them: "0-3,8".
func FormatCPUs(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}

// ParseCPUs is the inverse of FormatCPUs: numbers and ranges in ascending order. The empty list is
// nil.
func ParseCPUs(s string) ([]int, error) {
	if s == "" {
		return nil, nil
	}
	var cpus []int
	next := 0 // the least number that may follow
	for part := range strings.SplitSeq(s, ",") {
		first, last, err := parseRange(part)
		if err != nil || first < next || last < first || last >= maxListed {
			return nil, fmt.Errorf("%.40q is not a list of processors such as 0-3,8", s)
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, c)
		}
		next = last + 1
	}
	return cpus, nil
}

// parseRange reads "3" or "3-5".
func parseRange(s string) (first, last int, err error) {
	from, to, isRange := strings.Cut(s, "-")
	if first, err = strconv.Atoi(from); err != nil || !isRange {
		return first, first, err
	}
	last, err = strconv.Atoi(to)
	return first, last, err
}
