package vec

// Op is an operation that some kernels are of. The numbers are those of the tables in the
// assembler files.
type Op uint8

// The operations of MPI 4.1, section 6.9.2.
const (
	Sum  Op = 0
	Prod Op = 1
	Max  Op = 2
	Min  Op = 3
	LAnd Op = 4
	LOr  Op = 5
	LXor Op = 6
	BAnd Op = 7
	BOr  Op = 8
	BXor Op = 9

	ops = 10
)

// The kinds of values are those of mpi/internal/layout, of which some have names here, and two that
// it does not have.
const (
	BFloat16 = 14 // the upper half of a float32
	Float16  = 15 // binary16 of IEEE 754

	kinds = 16
)

// Step is the number of bytes that kernels work on at a time.
const Step = 64

// most is how many bytes go to one call of assembler, in which a goroutine cannot be preempted: a
// few microseconds.
const most = 64 << 10

// Kernel combines vectors by one operation on one kind of value. 0 is none.
type Kernel uint8

// usable tells which kernels this processor runs.
var usable = findUsable()

// Of is the kernel of an operation for values of a kind; 0 if there is none here.
func Of(op Op, kind uint8) Kernel {
	k := Kernel(uint8(op)*kinds + kind + 1)
	if kind >= kinds || raceEnabled || !usable[k] {
		return 0
	}
	return k
}

// Combine combines the elements of acc with those of in, as many as are a multiple of Step bytes,
// and returns how many bytes that were. Neither needs to be aligned.
//
// Preconditions:
//   - k is not 0.
//   - in is at least as long as acc.
//   - acc and in are the same memory, or share none.
func (k Kernel) Combine(acc, in []byte) int {
	n := len(acc) &^ (Step - 1)
	_ = in[:n]
	for at := 0; at < n; at += most {
		run(int(k-1), &acc[at], &in[at], min(most, n-at))
	}
	return n
}
