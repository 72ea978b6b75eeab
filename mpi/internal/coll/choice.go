package coll

import (
	"fmt"
	"strconv"
	"strings"
)

// Choice says by which algorithm each collective is carried out, and how reductions of long vectors
// are cut. Every rank needs the same. The zero value leaves all to [Auto].
type Choice struct {
	algs [numKinds]Algorithm

	// Segment is [Reducer].Segment.
	Segment int
}

// Of is the algorithm of a collective.
func (c *Choice) Of(k Kind) Algorithm { return c.algs[k] }

// segmentName stands in the place of a collective for Choice.Segment.
const segmentName = "segment"

// String is what [ParseChoice] reads, in the order of kinds and without those left to [Auto].
func (c Choice) String() string {
	var parts []string
	for k, a := range c.algs {
		if a != Auto {
			parts = append(parts, fmt.Sprintf("%v=%v", Kind(k), a))
		}
	}
	if c.Segment != 0 {
		parts = append(parts, fmt.Sprintf("%s=%d", segmentName, c.Segment))
	}
	return strings.Join(parts, ",")
}

// ParseChoice reads a list such as "allreduce=ring,bcast=chain,segment=65536". A collective that it
// does not name is left to [Auto], which may be given by name too. An error lists what could have
// been there.
func ParseChoice(s string) (Choice, error) {
	var c Choice
	named := make(map[string]bool)
	for part := range strings.SplitSeq(s, ",") {
		name, by, ok := strings.Cut(part, "=")
		if !ok {
			return c, fmt.Errorf("%q is no pair of a collective and its algorithm, such as allreduce=ring", part)
		}
		if named[name] {
			return c, fmt.Errorf("two values for %v", name)
		}
		named[name] = true
		if err := c.set(name, by); err != nil {
			return c, err
		}
	}
	return c, nil
}

// set takes one pair of a list.
func (c *Choice) set(name, by string) (err error) {
	if name == segmentName {
		if c.Segment, err = strconv.Atoi(by); err != nil || c.Segment <= 0 {
			return fmt.Errorf("a segment of %q, want a number of bytes above 0", by)
		}
		return nil
	}
	k, err := ParseKind(name)
	if err != nil {
		return fmt.Errorf("%w, %s", err, segmentName)
	}
	a, err := ParseAlgorithm(by)
	if err != nil || a != Auto && !k.Has(a) {
		return fmt.Errorf("%v has no algorithm %q, want one of auto, %s", k, by, k.algorithmList())
	}
	c.algs[k] = a
	return nil
}

// algorithmList names the algorithms of the collective.
func (k Kind) algorithmList() string {
	var names []string
	for _, a := range kinds[k].algs {
		names = append(names, a.String())
	}
	return strings.Join(names, ", ")
}
