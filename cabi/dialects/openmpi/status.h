/* A status of Open MPI: 24 bytes. */
typedef struct ompi_status_public_t {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR;
    int _cancelled;
    size_t _ucount;
} MPI_Status;

/* MPI_STATUS_IGNORE is 0. */
#define FIT_IGNORES(status) (!(status))

#define FIT_ALL_HANDLES ((void *)-1)
