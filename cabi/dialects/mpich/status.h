/* A status of MPICH: 20 bytes. The count has 63 bits, above a bit that is set if it was cancelled. */
typedef struct MPI_Status {
    int count_lo, count_hi_and_cancelled;
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
} MPI_Status;

/* MPI_STATUS_IGNORE is 1. */
#define FIT_IGNORES(status) ((uintptr_t)(status) <= 1)

extern void *const MPI_T_PVAR_ALL_HANDLES;
#define FIT_ALL_HANDLES MPI_T_PVAR_ALL_HANDLES
