package coll

import (
	"fmt"
	"slices"
	"strings"
)

// Algorithm names a way to carry out a collective. Not every collective has every algorithm; see
// [Kind.Algorithms].
type Algorithm uint8

const (
	Auto              Algorithm = iota // what the collective's Choose function says
	Dissemination                      // round k signals the rank 2^k further on
	Binomial                           // a binomial tree
	Chain                              // a pipeline through all ranks, in segments
	ScatterAllgather                   // scatter, then allgather by recursive doubling (by a ring if p is no power of two)
	ScatterRing                        // scatter, then allgather by a ring
	RecursiveDoubling                  // partners at distance 1, 2, 4, ... exchange all they have
	RecursiveHalving                   // partners exchange halves of what is left
	Rabenseifner                       // recursive halving, then allgather or gather
	Ring                               // blocks travel round all ranks
	Linear                             // every message goes straight to its receiver, all at once
	Bruck                              // lg p rounds of packed blocks
	Pairwise                           // p-1 rounds, each with one partner to send to and one to receive from
	TwoLevel                           // inside each host, and between the leaders of hosts
	numAlgorithms
)

var algorithmNames = [numAlgorithms]string{
	"auto", "dissemination", "binomial", "chain", "scatter-allgather", "scatter-ring", "recursive-doubling",
	"recursive-halving", "rabenseifner", "ring", "linear", "bruck", "pairwise", "two-level",
}

func (a Algorithm) String() string {
	if a >= numAlgorithms {
		return fmt.Sprintf("Algorithm(%d)", uint8(a))
	}
	return algorithmNames[a]
}

// ParseAlgorithm is the inverse of [Algorithm.String].
func ParseAlgorithm(name string) (Algorithm, error) {
	i := slices.Index(algorithmNames[:], name)
	if i < 0 {
		return Auto, fmt.Errorf("no collective algorithm %q, want one of %s", name, strings.Join(algorithmNames[:], ", "))
	}
	return Algorithm(i), nil
}

// Kind names a collective for the choice of its algorithm. A v-form shares the kind of its plain
// form.
type Kind uint8

const (
	KindBarrier Kind = iota
	KindBcast
	KindReduce
	KindAllreduce
	KindScan
	KindExscan
	KindReduceScatter
	KindGather
	KindScatter
	KindAllgather
	KindAlltoall
	numKinds
)

// kinds is the name of each collective and the algorithms it has.
var kinds = [numKinds]struct {
	name string
	algs []Algorithm
}{
	KindBarrier:       {"barrier", []Algorithm{Dissemination, Linear, TwoLevel}},
	KindBcast:         {"bcast", []Algorithm{Binomial, Chain, ScatterAllgather, ScatterRing, TwoLevel}},
	KindReduce:        {"reduce", []Algorithm{Binomial, Rabenseifner, TwoLevel}},
	KindAllreduce:     {"allreduce", []Algorithm{Linear, RecursiveDoubling, Rabenseifner, Ring, TwoLevel}},
	KindScan:          {"scan", []Algorithm{RecursiveDoubling, Chain}},
	KindExscan:        {"exscan", []Algorithm{RecursiveDoubling}},
	KindReduceScatter: {"reduce-scatter", []Algorithm{RecursiveHalving, Ring}},
	KindGather:        {"gather", []Algorithm{Binomial, Linear, TwoLevel}},
	KindScatter:       {"scatter", []Algorithm{Binomial, Linear, TwoLevel}},
	KindAllgather:     {"allgather", []Algorithm{RecursiveDoubling, Bruck, Ring, TwoLevel}},
	KindAlltoall:      {"alltoall", []Algorithm{Bruck, Pairwise, Linear}},
}

func (k Kind) String() string {
	if k >= numKinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kinds[k].name
}

// Kinds lists the collectives.
func Kinds() []Kind {
	all := make([]Kind, numKinds)
	for k := range all {
		all[k] = Kind(k)
	}
	return all
}

// ParseKind is the inverse of [Kind.String].
func ParseKind(name string) (Kind, error) {
	for _, k := range Kinds() {
		if kinds[k].name == name {
			return k, nil
		}
	}
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.String())
	}
	return 0, fmt.Errorf("no collective %q, want one of %s", name, strings.Join(names, ", "))
}

// Algorithms lists the algorithms of the collective, without Auto.
func (k Kind) Algorithms() []Algorithm { return slices.Clone(kinds[k].algs) }

// Has says whether the collective has the algorithm; none has Auto.
func (k Kind) Has(a Algorithm) bool { return slices.Contains(kinds[k].algs, a) }

// unreachable reports an algorithm that got past its collective's checks.
func (k Kind) unreachable(a Algorithm) string {
	return fmt.Sprintf("coll: bug: %v by %v got past the choice", k, a)
}
