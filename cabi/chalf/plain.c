/* Functions that need no Go: clocks, addresses, statuses, versions. */
#define _GNU_SOURCE
#include "fitmpi.h"
#include "numbers_gen.h"

#include <stdlib.h>
#include <time.h>

double PMPI_Wtime(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
FIT_ALIAS(MPI_Wtime);

double PMPI_Wtick(void)
{
    struct timespec t;
    clock_getres(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
FIT_ALIAS(MPI_Wtick);

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) { return (MPI_Aint)((char *)base + disp); }
FIT_ALIAS(MPI_Aint_add);

MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) { return (MPI_Aint)((char *)addr1 - (char *)addr2); }
FIT_ALIAS(MPI_Aint_diff);

int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Get_address);

int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    void *p = size < 0 ? NULL : aligned_alloc(64, ((size_t)size + 64) & ~(size_t)63);
    if (!p) { /* the Go half says so */
        int64_t a[] = {size, (intptr_t)info, (intptr_t)baseptr};
        return fit_call(FIT_ID_ALLOC_MEM, a);
    }
    *(void **)baseptr = p;
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Alloc_mem);

int PMPI_Free_mem(void *base)
{
    free(base);
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Free_mem);

/* MPI_Pcontrol has a meaning for tools alone, which define it themselves. */
int PMPI_Pcontrol(int level, ...)
{
    (void)level;
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Pcontrol);

int PMPI_Initialized(int *flag)
{
    *flag = atomic_load(&fit_shared.state) != FIT_BEFORE;
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Initialized);

int PMPI_Finalized(int *flag)
{
    *flag = atomic_load(&fit_shared.state) == FIT_FINALIZED;
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Finalized);

int PMPI_Get_version(int *version, int *subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Get_version);

int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Abi_get_version);

/* In a status, MPI_internal[0] and [1] are the number of bytes, [2] says that it was cancelled. */
#define STATUS_GET(name, type, field, value)                      \
    int PMPI_Status_get_##name(const MPI_Status *status, type *field) \
    {                                                             \
        *field = status->value;                                   \
        return MPI_SUCCESS;                                       \
    }                                                             \
    FIT_ALIAS(MPI_Status_get_##name)
STATUS_GET(error, int, error, MPI_ERROR);
STATUS_GET(source, int, source, MPI_SOURCE);
STATUS_GET(tag, int, tag, MPI_TAG);

#define STATUS_SET(name, arg, value)                          \
    int PMPI_Status_set_##name(MPI_Status *status, int arg)   \
    {                                                         \
        status->value = arg;                                  \
        return MPI_SUCCESS;                                   \
    }                                                         \
    FIT_ALIAS(MPI_Status_set_##name)
STATUS_SET(error, error, MPI_ERROR);
STATUS_SET(source, source, MPI_SOURCE);
STATUS_SET(tag, tag, MPI_TAG);
STATUS_SET(cancelled, flag, MPI_internal[2]);

int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = status->MPI_internal[2] != 0;
    return MPI_SUCCESS;
}
FIT_ALIAS(MPI_Test_cancelled);

/* Handles are numbers below 2^31, so their integers are the same numbers. */
#define AS_INT(kind, arg)                                                  \
    int PMPI_##kind##_toint(MPI_##arg##_HANDLE handle) { return (int)(intptr_t)handle; } \
    FIT_ALIAS(MPI_##kind##_toint);                                         \
    MPI_##arg##_HANDLE PMPI_##kind##_fromint(int i) { return (MPI_##arg##_HANDLE)(intptr_t)i; } \
    FIT_ALIAS(MPI_##kind##_fromint)
#define MPI_Comm_HANDLE MPI_Comm
#define MPI_Errhandler_HANDLE MPI_Errhandler
#define MPI_File_HANDLE MPI_File
#define MPI_Group_HANDLE MPI_Group
#define MPI_Info_HANDLE MPI_Info
#define MPI_Message_HANDLE MPI_Message
#define MPI_Op_HANDLE MPI_Op
#define MPI_Request_HANDLE MPI_Request
#define MPI_Session_HANDLE MPI_Session
#define MPI_Type_HANDLE MPI_Datatype
#define MPI_Win_HANDLE MPI_Win
AS_INT(Comm, Comm);
AS_INT(Errhandler, Errhandler);
AS_INT(File, File);
AS_INT(Group, Group);
AS_INT(Info, Info);
AS_INT(Message, Message);
AS_INT(Op, Op);
AS_INT(Request, Request);
AS_INT(Session, Session);
AS_INT(Type, Type);
AS_INT(Win, Win);
