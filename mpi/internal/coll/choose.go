package coll

// Where one algorithm hands over to the next, in bytes: measured with 4 ranks on two cores over
// shared memory and TCP, 8 bytes to 4 MB (docs/decisions/0019). Numbers of ranks, and what depends
// on more of them than that, are from the literature (Thakur, Rabenseifner and Gropp, "Optimization
// of collective communication operations in MPICH", 2005). Every rank must use the same values.
var (
	bcastScatterFrom     = 128 << 10 // whole message: binomial below
	bcastChainFrom       = 16 << 20  // whole message: scatter-allgather below
	bcastScatterRanks    = 4         // ranks from which a scatter pays at all
	reduceHalvingFrom    = 8 << 20   // whole vector: binomial below
	allreduceLinearTo    = 1 << 10   // whole vector, few ranks: recursive doubling above
	allreduceHalvingFrom = 256 << 10 // whole vector: recursive doubling below
	allreduceRingFrom    = 512 << 10 // whole vector, commutative, ranks no power of two: Rabenseifner below
	scanChainFrom        = 256 << 10 // whole vector: recursive doubling below
	reduceScatterRing    = 512 << 10 // whole vector, commutative, ranks no power of two: recursive halving below
	gatherLinearFrom     = 4 << 10   // one block: binomial below
	gatherLinearRanks    = 8         // ranks on one host, or each on another, up to which a root takes all blocks itself
	allgatherRingFrom    = 8 << 20   // all blocks: recursive doubling or Bruck below
	alltoallBruckTo      = 256       // one block: Bruck up to this, if there are many ranks
	alltoallBruckRanks   = 8         // ranks from which Bruck pays
	alltoallPairwiseFrom = 32 << 10  // one block: linear below
)

// Up to where leaders speak for their hosts, in bytes unless said. Reasoned from the costs: between
// hosts of one machine (FITMPI_CLIQUES) a message costs too little more to show them. A message
// inside a host costs a small part of one between hosts, so while messages are short what counts is
// how many of them follow each other between hosts, and how many each host has to take.
//
// Long ones are another matter. A leader alone then holds up its host: it combines, sends and
// receives for all, and its host waits for the whole message before the first byte goes on. Flat
// algorithms that take the ranks host by host send as little between hosts. A chain or a ring
// crosses once per host and is a pipeline besides. Recursive halving exchanges the long halves
// inside and shares what crosses, and the arithmetic, among all ranks of the host.
var (
	bcastTwoLevelTo     = 1 << 20  // whole message: Chain from here on
	reduceTwoLevelTo    = 32 << 10 // whole vector: the flat choice from here on
	allreduceTwoLevelTo = 32 << 10 // whole vector: the flat choice from here on
	gatherTwoLevelHosts = 64       // hosts up to which a root may serve all leaders itself; the flat choice above
)

// Sizes that shape algorithms from within, to be measured as well.
var (
	segmentBytes   = 128 << 10 // a segment of a pipeline, or of an exchange whose operands are combined as they arrive
	pairwiseWindow = 2         // rounds of Pairwise under way at once
	linearWindow   = 32        // rounds of Linear all-to-all under way at once
)

// linearRanksTo is up to how many ranks one hears and tells all others itself in a barrier and in a
// short allreduce. That takes two messages one after the other, as lg 4 rounds do, but a rank other
// than that one waits once only: where ranks share cores, each wait is a change of processes.
const linearRanksTo = 4

func isPowerOfTwo(n int) bool { return n&(n-1) == 0 }

// The Choose functions choose for size ranks. If p is not nil it says which of them share a host.

// ChooseBarrier chooses for a barrier.
func ChooseBarrier(size int, p *Places) Algorithm {
	switch {
	case p != nil:
		return TwoLevel
	case size > 2 && size <= linearRanksTo:
		return Linear
	default:
		return Dissemination
	}
}

// ChooseBcast chooses for a message of bytes.
func ChooseBcast(size, bytes int, p *Places) Algorithm {
	switch {
	case p != nil && bytes < bcastTwoLevelTo:
		return TwoLevel
	case p != nil:
		return Chain
	case size < bcastScatterRanks || bytes < bcastScatterFrom:
		return Binomial
	case bytes < bcastChainFrom:
		return ScatterAllgather
	default:
		return Chain
	}
}

// ChooseReduce chooses for a vector of bytes at each rank.
func ChooseReduce(size, bytes int, commutative bool, p *Places) Algorithm {
	switch {
	case bytes < reduceTwoLevelTo && p.canReduce(commutative):
		return TwoLevel
	case size <= 2 || bytes < reduceHalvingFrom:
		return Binomial
	default:
		return Rabenseifner
	}
}

// ChooseAllreduce chooses for a vector of bytes at each rank.
func ChooseAllreduce(size, bytes int, commutative bool, p *Places) Algorithm {
	switch {
	case bytes < allreduceTwoLevelTo && p.canReduce(commutative):
		return TwoLevel
	case size > 2 && size <= linearRanksTo && bytes <= allreduceLinearTo:
		return Linear
	case bytes < allreduceHalvingFrom:
		return RecursiveDoubling
	case commutative && bytes >= allreduceRingFrom && !isPowerOfTwo(size):
		return Ring
	default:
		return Rabenseifner
	}
}

// ChooseScan chooses for a vector of bytes at each rank.
func ChooseScan(size, bytes int, _ bool) Algorithm {
	if size <= 2 || bytes < scanChainFrom {
		return RecursiveDoubling
	}
	return Chain
}

// ChooseReduceScatter chooses for an operand of bytes, all blocks together, at each rank.
func ChooseReduceScatter(size, bytes int, commutative bool) Algorithm {
	if commutative && bytes >= reduceScatterRing && !isPowerOfTwo(size) {
		return Ring
	}
	return RecursiveHalving
}

// ChooseGather chooses for one rank's block of bytes.
func ChooseGather(size, bytes int, p *Places) Algorithm {
	switch {
	case p == nil && size <= gatherLinearRanks:
		return Linear
	default:
		return chooseTree(size, bytes, p)
	}
}

// chooseTree chooses how blocks get to a root or from there.
func chooseTree(size, bytes int, p *Places) Algorithm {
	switch {
	case size <= 2 || bytes >= gatherLinearFrom:
		return Linear
	case p != nil && len(p.members) <= gatherTwoLevelHosts:
		return TwoLevel
	default:
		return Binomial
	}
}

// ChooseScatter chooses for one rank's block of bytes.
func ChooseScatter(size, bytes int, p *Places) Algorithm { return chooseTree(size, bytes, p) }

// ChooseAllgather chooses for one rank's block of bytes.
func ChooseAllgather(size, bytes int, p *Places) Algorithm {
	switch {
	case size*bytes >= allgatherRingFrom && size > 2:
		return Ring
	case p != nil:
		return TwoLevel
	case isPowerOfTwo(size):
		return RecursiveDoubling
	default:
		return Bruck
	}
}

// ChooseAllgatherv chooses for blocks of total bytes together.
func ChooseAllgatherv(size, total int, p *Places) Algorithm {
	switch {
	case total >= allgatherRingFrom || size <= 2:
		return Ring
	case p != nil:
		return TwoLevel
	default:
		return Bruck
	}
}

// ChooseAlltoall chooses for one block of bytes from each rank to each.
func ChooseAlltoall(size, bytes int) Algorithm {
	switch {
	case bytes <= alltoallBruckTo && size >= alltoallBruckRanks:
		return Bruck
	case bytes >= alltoallPairwiseFrom:
		return Pairwise
	default:
		return Linear
	}
}
