/* Errors are fatal by default, and the message names the function. */
#include "check.h"

int main(int argc, char **argv)
{
    int x = 0;
    begin(argc, argv);
    if (rank == 0)
        MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
