package coll

// Where one algorithm hands over to the next, in bytes. These are starting points from the literature (Thakur, Rabenseifner and
// Gropp, "Optimization of collective communication operations in MPICH", 2005) and are to be measured on our engine. Every rank
// must use the same values.
var (
	bcastScatterFrom     = 32 << 10  // whole message: binomial below
	bcastChainFrom       = 4 << 20   // whole message: scatter-allgather below
	bcastScatterRanks    = 4         // ranks from which a scatter pays at all
	reduceHalvingFrom    = 32 << 10  // whole vector: binomial below
	allreduceHalvingFrom = 16 << 10  // whole vector: recursive doubling below
	allreduceRingFrom    = 512 << 10 // whole vector, commutative, ranks no power of two: Rabenseifner below
	scanChainFrom        = 256 << 10 // whole vector: recursive doubling below
	reduceScatterRing    = 512 << 10 // whole vector, commutative, ranks no power of two: recursive halving below
	gatherLinearFrom     = 4 << 10   // one block: binomial below
	allgatherRingFrom    = 80 << 10  // all blocks: recursive doubling or Bruck below
	alltoallBruckTo      = 256       // one block: Bruck up to this, if there are many ranks
	alltoallBruckRanks   = 8         // ranks from which Bruck pays
	alltoallPairwiseFrom = 32 << 10  // one block: linear below
)

// Sizes that shape algorithms from within, to be measured as well.
var (
	segmentBytes   = 128 << 10 // a segment of a pipeline, or of an exchange whose operands are combined as they arrive
	pairwiseWindow = 2         // rounds of Pairwise under way at once
	linearWindow   = 32        // rounds of Linear all-to-all under way at once
)

func isPowerOfTwo(n int) bool { return n&(n-1) == 0 }

// ChooseBcast chooses for a message of bytes.
func ChooseBcast(size, bytes int) Algorithm {
	switch {
	case size < bcastScatterRanks || bytes < bcastScatterFrom:
		return Binomial
	case bytes < bcastChainFrom:
		return ScatterAllgather
	default:
		return Chain
	}
}

// ChooseReduce chooses for a vector of bytes at each rank.
func ChooseReduce(size, bytes int, _ bool) Algorithm {
	if size <= 2 || bytes < reduceHalvingFrom {
		return Binomial
	}
	return Rabenseifner
}

// ChooseAllreduce chooses for a vector of bytes at each rank.
func ChooseAllreduce(size, bytes int, commutative bool) Algorithm {
	switch {
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
func ChooseGather(size, bytes int) Algorithm {
	if size > 2 && bytes < gatherLinearFrom {
		return Binomial
	}
	return Linear
}

// ChooseScatter chooses for one rank's block of bytes.
func ChooseScatter(size, bytes int) Algorithm { return ChooseGather(size, bytes) }

// ChooseAllgather chooses for one rank's block of bytes.
func ChooseAllgather(size, bytes int) Algorithm {
	switch {
	case size*bytes >= allgatherRingFrom && size > 2:
		return Ring
	case isPowerOfTwo(size):
		return RecursiveDoubling
	default:
		return Bruck
	}
}

// ChooseAllgatherv chooses for blocks of total bytes together.
func ChooseAllgatherv(size, total int) Algorithm {
	if total >= allgatherRingFrom || size <= 2 {
		return Ring
	}
	return Bruck
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
