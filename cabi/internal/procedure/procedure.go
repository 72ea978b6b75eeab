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

// Owner is a kind of object that has an error handler.
type Owner uint8

// The kinds; OnNone is for procedures that are of no object.
const (
	OnNone Owner = iota
	OnComm
	OnWin
	OnFile
	OnSession
)

// Makes says which handles a procedure makes: a bit for each argument that is the address of one.
// By is the kind of the object that it is of, and On the argument that is this object.
type Makes struct {
	Out uint16
	By  Owner
	On  uint8
}
