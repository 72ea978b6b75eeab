// Package procedure numbers the functions of MPI's interface in C, so that errors, traces and
// tables can speak of them.
package procedure

import "fmt"

// ID is a function of MPI: a procedure of the standard, or its twin for large counts. The functions
// for profiling have the numbers of those without the P.
type ID uint16

// String returns the name in C.
func (p ID) String() string {
	if p >= Count {
		return fmt.Sprintf("procedure.ID(%d)", uint16(p))
	}
	return names[p]
}
