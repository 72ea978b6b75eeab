package hosts

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Expand returns the names that one name in Slurm's grammar stands for: n[001-003,7]-ib is n001-ib,
// n002-ib, n003-ib and n7-ib; several brackets are every combination, the last one fastest. A name
// without brackets stands for itself.
func Expand(name string) ([]string, error) {
	if _, err := netip.ParseAddr(name); err == nil {
		return []string{name}, nil
	}
	before, rest, ok := strings.Cut(name, "[")
	if !ok {
		if strings.Contains(name, "]") {
			return nil, fmt.Errorf("host %q: ] without [", name)
		}
		return []string{name}, nil
	}
	inside, after, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("host %q: [ without ]", name)
	}
	numbers, err := expandRanges(inside)
	if err != nil {
		return nil, fmt.Errorf("host %q: %w", name, err)
	}
	tails, err := Expand(after)
	if err != nil {
		return nil, err
	}
	if len(numbers)*len(tails) > MaxHosts {
		return nil, fmt.Errorf("host %q: more than %d hosts", name, MaxHosts)
	}
	var names []string
	for _, n := range numbers {
		for _, tail := range tails {
			names = append(names, before+n+tail)
		}
	}
	return names, nil
}

// expandRanges returns the numbers of a list such as 001-003,7, each as wide as its range is
// written.
func expandRanges(list string) ([]string, error) {
	var numbers []string
	for item := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(item, "-")
		if !isRange {
			high = low
		}
		from, errLow := strconv.ParseUint(low, 10, 32)
		to, errHigh := strconv.ParseUint(high, 10, 32)
		switch {
		case errLow != nil || errHigh != nil:
			return nil, fmt.Errorf("%q in brackets: want numbers and ranges, for example [1-3,7]", item)
		case from > to:
			return nil, fmt.Errorf("%q in brackets: the range ends before it begins", item)
		case to-from >= MaxHosts || len(numbers)+int(to-from) >= MaxHosts:
			return nil, fmt.Errorf("%q in brackets: more than %d hosts", item, MaxHosts)
		}
		for n := from; n <= to; n++ {
			numbers = append(numbers, fmt.Sprintf("%0*d", len(low), n))
		}
	}
	return numbers, nil
}
