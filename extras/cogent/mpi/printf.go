package mpi

import "fmt"

// PrintAllProcs makes Printf and Println print at all ranks.
var PrintAllProcs = false

// Printf is fmt.Printf at rank 0, and AllPrintf at the others if PrintAllProcs is set.
func Printf(format string, args ...any) {
	switch {
	case WorldRank() == 0:
		fmt.Printf(format, args...)
	case PrintAllProcs:
		AllPrintf(format, args...)
	}
}

// AllPrintf is fmt.Printf with the rank in front.
func AllPrintf(format string, args ...any) {
	fmt.Printf("P%d: "+format, append([]any{WorldRank()}, args...)...)
}

// Println is fmt.Println at rank 0, and AllPrintln at the others if PrintAllProcs is set.
func Println(args ...any) {
	switch {
	case WorldRank() == 0:
		fmt.Println(args...)
	case PrintAllProcs:
		AllPrintln(args...)
	}
}

// AllPrintln is fmt.Println with the rank in front.
func AllPrintln(args ...any) {
	fmt.Println(append([]any{fmt.Sprintf("P%d: ", WorldRank())}, args...)...)
}
