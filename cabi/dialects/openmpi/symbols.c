/* What Open MPI's library exports beside the functions of the standard. */
#include "dialect.h"

typedef int MPI_Fint;

#pragma GCC visibility push(default)

MPI_Fint *MPI_F_STATUS_IGNORE, *MPI_F_STATUSES_IGNORE;

int PMPI_Get_version(int *version, int *subversion)
{
    *version = 3;
    *subversion = 1;
    return 0;
}
FIT_ALIAS(MPI_Get_version);

int PMPI_Pcontrol(const int level, ...)
{
    (void)level;
    return 0;
}
FIT_ALIAS(MPI_Pcontrol);

/* The predefined functions of attributes: MPI_COMM_DUP_FN and its like. */
#define COPY(name, type, keeps)                                                          \
    int OMPI_C_MPI_##name(type h, int key, void *extra, void *in, void *out, int *flag)  \
    {                                                                                    \
        (void)h, (void)key, (void)extra;                                                 \
        if (keeps)                                                                       \
            *(void **)out = in;                                                          \
        *flag = keeps;                                                                   \
        return 0;                                                                        \
    }
COPY(DUP_FN, MPI_Comm, 1)
COPY(NULL_COPY_FN, MPI_Comm, 0)
COPY(COMM_DUP_FN, MPI_Comm, 1)
COPY(COMM_NULL_COPY_FN, MPI_Comm, 0)
COPY(TYPE_DUP_FN, MPI_Datatype, 1)
COPY(TYPE_NULL_COPY_FN, MPI_Datatype, 0)
COPY(WIN_DUP_FN, MPI_Win, 1)
COPY(WIN_NULL_COPY_FN, MPI_Win, 0)

#define DELETE(name, type)                                             \
    int OMPI_C_MPI_##name(type h, int key, void *value, void *extra)   \
    {                                                                  \
        (void)h, (void)key, (void)value, (void)extra;                  \
        return 0;                                                      \
    }
DELETE(NULL_DELETE_FN, MPI_Comm)
DELETE(COMM_NULL_DELETE_FN, MPI_Comm)
DELETE(TYPE_NULL_DELETE_FN, MPI_Datatype)
DELETE(WIN_NULL_DELETE_FN, MPI_Win)

/* In Fortran a handle is its number in the standard ABI. */
#define FORTRAN(name, kind, type)                                                               \
    MPI_Fint PMPI_##name##_c2f(type h) { return (MPI_Fint)kind##_in(h); }                       \
    FIT_ALIAS(MPI_##name##_c2f);                                                                \
    type PMPI_##name##_f2c(MPI_Fint h) { return kind##_out((uintptr_t)(unsigned)h); }           \
    FIT_ALIAS(MPI_##name##_f2c);
FORTRAN(Comm, comm, MPI_Comm)
FORTRAN(Errhandler, errhandler, MPI_Errhandler)
FORTRAN(File, file, MPI_File)
FORTRAN(Group, group, MPI_Group)
FORTRAN(Info, info, MPI_Info)
FORTRAN(Message, message, MPI_Message)
FORTRAN(Op, op, MPI_Op)
FORTRAN(Request, request, MPI_Request)
FORTRAN(Type, datatype, MPI_Datatype)
FORTRAN(Win, win, MPI_Win)

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

/* There are no graphics processors here. */
int MPIX_Query_cuda_support(void) { return 0; }
