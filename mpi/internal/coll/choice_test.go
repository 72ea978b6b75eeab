package coll

import (
	"strings"
	"testing"
)

func TestParseChoice(t *testing.T) {
	for s, want := range map[string]string{
		"allreduce=ring": "allreduce=ring",
		"reduce-scatter=ring,bcast=scatter-allgather": "bcast=scatter-allgather,reduce-scatter=ring",
		"barrier=auto,scan=chain":                     "scan=chain",
		"gather=auto":                                 "",
		"segment=1500,bcast=chain":                    "bcast=chain,segment=1500",
	} {
		c, err := ParseChoice(s)
		if err != nil || c.String() != want {
			t.Errorf("ParseChoice(%q) = %v, %v, want %q", s, c, err, want)
		}
	}
	c, err := ParseChoice("bcast=chain,alltoall=bruck")
	if err != nil || c.Of(KindBcast) != Chain || c.Of(KindAlltoall) != Bruck || c.Of(KindReduce) != Auto {
		t.Errorf("the choice is %v, %v", c, err)
	}
}

func TestParseChoiceErrors(t *testing.T) {
	for s, says := range map[string]string{
		"":                          "such as allreduce=ring",
		"ring":                      `"ring" is no pair`,
		"segment=64K":               `a segment of "64K", want a number of bytes above 0`,
		"segment=0":                 "want a number of bytes above 0",
		"allreduce=ring,":           `"" is no pair`,
		"gossip=ring":               `no collective "gossip", want one of barrier, bcast, `,
		"allreduce=chain":           `allreduce has no algorithm "chain", want one of auto, linear, recursive-doubling, rabenseifner, ring, two-level`,
		"bcast=quantum":             `bcast has no algorithm "quantum", want one of auto, binomial, chain`,
		"bcast=chain,bcast=chain":   "two values for bcast",
		"allreduce = ring":          `no collective "allreduce "`,
		"scan=chain,exscan=chain":   "exscan has no algorithm",
		"reduce_scatter=ring":       `no collective "reduce_scatter", want one of barrier, `,
		"allgatherv=ring,scan=auto": `no collective "allgatherv"`,
	} {
		if c, err := ParseChoice(s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseChoice(%q) = %v, %v, want an error that says %q", s, c, err, says)
		}
	}
}

// FuzzParseChoice: what is read can be said and read again.
func FuzzParseChoice(f *testing.F) {
	f.Add("allreduce=ring,bcast=chain")
	f.Add("barrier=auto")
	f.Add("=,=")
	f.Add("segment=9")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseChoice(s)
		if err != nil || c == (Choice{}) {
			return
		}
		if again, err := ParseChoice(c.String()); err != nil || again != c {
			t.Errorf("%q reads as %v, which reads as %v, %v", s, c, again, err)
		}
	})
}
