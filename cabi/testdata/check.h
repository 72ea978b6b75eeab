/* CHECK ends a test program that has found something wrong, with the line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x)                                                              \
    do {                                                                      \
        if (!(x)) {                                                           \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #x); \
            exit(3);                                                          \
        }                                                                     \
    } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

static int rank, size;

static inline void begin(int argc, char **argv)
{
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
}

static inline int end(void)
{
    OK(MPI_Finalize());
    if (rank == 0)
        printf("all right\n");
    return 0;
}
