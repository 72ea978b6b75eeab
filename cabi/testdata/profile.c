/* A tool defines a function and calls the other name of ours. */
#include "check.h"

static int sends;

int MPI_Send(const void *buf, int count, MPI_Datatype t, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, t, dest, tag, comm);
}

int main(int argc, char **argv)
{
    int x = 1;
    begin(argc, argv);
    if (size > 1 && rank < 2)
        rank ? MPI_Recv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) : MPI_Send(&x, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    CHECK(sends == (size > 1 && rank == 0));
    return end();
}
