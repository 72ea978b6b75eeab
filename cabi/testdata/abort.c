#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 42);
    MPI_Barrier(MPI_COMM_WORLD);
    return 0;
}
