// Package halves says which functions of MPI the C half of the library has itself.
package halves

import (
	"slices"
	"strings"
)

// inC are those that need not enter Go, or only if they must. All others gather their arguments and
// enter.
var inC = strings.Fields(`
	MPI_Wtime MPI_Wtick MPI_Alloc_mem MPI_Free_mem MPI_Aint_add MPI_Aint_diff MPI_Get_address MPI_Pcontrol
	MPI_Initialized MPI_Finalized MPI_Get_version MPI_Abi_get_version
	MPI_Status_get_error MPI_Status_get_source MPI_Status_get_tag MPI_Test_cancelled
	MPI_Status_set_error MPI_Status_set_source MPI_Status_set_tag MPI_Status_set_cancelled
	MPI_Wait MPI_Waitall MPI_Waitany MPI_Test MPI_Testall MPI_Testany MPI_Testsome MPI_Request_get_status
	MPI_Comm_fromint MPI_Comm_toint MPI_Errhandler_fromint MPI_Errhandler_toint
	MPI_File_fromint MPI_File_toint MPI_Group_fromint MPI_Group_toint
	MPI_Info_fromint MPI_Info_toint MPI_Message_fromint MPI_Message_toint
	MPI_Op_fromint MPI_Op_toint MPI_Request_fromint MPI_Request_toint
	MPI_Session_fromint MPI_Session_toint MPI_Type_fromint MPI_Type_toint
	MPI_Win_fromint MPI_Win_toint
`)

// InC reports whether a function is in the directory chalf, written by hand.
func InC(name string) bool {
	return slices.Contains(inC, name)
}
