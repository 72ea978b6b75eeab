package coll

import (
	"fmt"
	"strings"
)

// Choice says by which algorithm each collective is carried out. Every rank needs the same. The
// zero value leaves all to [Auto].
type Choice [numKinds]Algorithm

// Of is the algorithm of a collective.
func (c *Choice) Of(k Kind) Algorithm { return c[k] }

// String is what [ParseChoice] reads, in the order of kinds and without those left to [Auto].
func (c Choice) String() string {
	var parts []string
	for k, a := range c {
		if a != Auto {
			parts = append(parts, fmt.Sprintf("%v=%v", Kind(k), a))
		}
	}
	return strings.Join(parts, ",")
}

// ParseChoice reads a list such as "allreduce=ring,bcast=chain". A collective that it does not name
// is left to [Auto], which may be given by name too. An error lists what could have been there.
func ParseChoice(s string) (Choice, error) {
	var c Choice
	var named [numKinds]bool
	for part := range strings.SplitSeq(s, ",") {
		name, by, ok := strings.Cut(part, "=")
		if !ok {
			return c, fmt.Errorf("%q is no pair of a collective and its algorithm, such as allreduce=ring", part)
		}
		k, err := ParseKind(name)
		if err != nil {
			return c, err
		}
		if named[k] {
			return c, fmt.Errorf("two algorithms for %v", k)
		}
		a, err := ParseAlgorithm(by)
		if err != nil || a != Auto && !k.Has(a) {
			return c, fmt.Errorf("%v has no algorithm %q, want one of auto, %s", k, by, k.algorithmList())
		}
		c[k], named[k] = a, true
	}
	return c, nil
}

// algorithmList names the algorithms of the collective.
func (k Kind) algorithmList() string {
	var names []string
	for _, a := range kinds[k].algs {
		names = append(names, a.String())
	}
	return strings.Join(names, ", ")
}
