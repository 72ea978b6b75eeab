/* What MPICH's library exports beside the functions of the standard, and what is MPICH's alone. */
#include "dialect.h"

typedef int MPI_Fint;

#pragma GCC visibility push(default)

/* Addresses that stand for something. */
static int unweighted, weights_empty;
int *const MPI_UNWEIGHTED = &unweighted;
int *const MPI_WEIGHTS_EMPTY = &weights_empty;
int *MPIR_C_MPI_UNWEIGHTED, *MPIR_C_MPI_WEIGHTS_EMPTY;
int MPIR_F08_MPI_IN_PLACE, MPIR_F08_MPI_BOTTOM;
MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ[1];
MPI_Status *MPI_F08_STATUS_IGNORE = &MPIR_F08_MPI_STATUS_IGNORE_OBJ;
MPI_Status *MPI_F08_STATUSES_IGNORE = MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE; /* set by the library for Fortran */
void *const MPI_T_PVAR_ALL_HANDLES = (void *)&MPI_T_PVAR_ALL_HANDLES;

/* The library for Fortran has variables of these names too, and those are what is set here. */
__attribute__((constructor)) static void set_weights(void)
{
    MPIR_C_MPI_UNWEIGHTED = MPI_UNWEIGHTED;
    MPIR_C_MPI_WEIGHTS_EMPTY = MPI_WEIGHTS_EMPTY;
}

int PMPI_Get_version(int *version, int *subversion)
{
    *version = 4;
    *subversion = 0;
    return 0;
}
FIT_ALIAS(MPI_Get_version);

int PMPI_Pcontrol(int level, ...)
{
    (void)level;
    return 0;
}
FIT_ALIAS(MPI_Pcontrol);

/* MPI_COMM_DUP_FN and its like. */
int MPIR_Dup_fn(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    return 0;
}

/* In Fortran a handle is its number. */
MPI_Fint PMPI_File_c2f(MPI_File file) { return (MPI_Fint)file_in(file); }
FIT_ALIAS(MPI_File_c2f);

MPI_File PMPI_File_f2c(MPI_Fint file) { return file_out((uintptr_t)(unsigned)file); }
FIT_ALIAS(MPI_File_f2c);

int PMPI_Status_c2f(const MPI_Status *c, MPI_Fint *f)
{
    memcpy(f, c, sizeof *c);
    return 0;
}
FIT_ALIAS(MPI_Status_c2f);

int PMPI_Status_f2c(const MPI_Fint *f, MPI_Status *c)
{
    memcpy(c, f, sizeof *c);
    return 0;
}
FIT_ALIAS(MPI_Status_f2c);

/* The same names as functions of MPI 4.1. */
int PMPIX_Delete_error_class(int class) { return error_out(abi_Remove_error_class(fit_error_in(class))); }
FIT_ALIAS(MPIX_Delete_error_class);

int PMPIX_Delete_error_code(int code) { return error_out(abi_Remove_error_code(fit_error_in(code))); }
FIT_ALIAS(MPIX_Delete_error_code);

int PMPIX_Delete_error_string(int code) { return error_out(abi_Remove_error_string(fit_error_in(code))); }
FIT_ALIAS(MPIX_Delete_error_string);

/* There are no graphics processors here. */
int PMPIX_GPU_query_support(int kind, int *is_supported)
{
    (void)kind;
    *is_supported = 0;
    return 0;
}
FIT_ALIAS(MPIX_GPU_query_support);

#define NONE(name) \
    int P##name(void) { return 0; } \
    FIT_ALIAS(name)
NONE(MPIX_Query_cuda_support);
NONE(MPIX_Query_hip_support);
NONE(MPIX_Query_ze_support);

/* Fault tolerance of programs in C is not there yet. */
static int missing(MPI_Comm comm)
{
    abi_Comm_call_errhandler(comm_in(comm), ABI_ERR_UNSUPPORTED_OPERATION);
    return error_out(ABI_ERR_UNSUPPORTED_OPERATION);
}

int PMPIX_Comm_revoke(MPI_Comm comm) { return missing(comm); }
FIT_ALIAS(MPIX_Comm_revoke);

int PMPIX_Comm_failure_ack(MPI_Comm comm) { return missing(comm); }
FIT_ALIAS(MPIX_Comm_failure_ack);

int PMPIX_Comm_shrink(MPI_Comm comm, MPI_Comm *new) { return (void)new, missing(comm); }
FIT_ALIAS(MPIX_Comm_shrink);

int PMPIX_Comm_agree(MPI_Comm comm, int *flag) { return (void)flag, missing(comm); }
FIT_ALIAS(MPIX_Comm_agree);

int PMPIX_Comm_failure_get_acked(MPI_Comm comm, MPI_Group *failed) { return (void)failed, missing(comm); }
FIT_ALIAS(MPIX_Comm_failure_get_acked);
