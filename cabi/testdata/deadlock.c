/* Ranks that wait for each other: fitrun says so, with the calls. */
#include "check.h"

int main(int argc, char **argv)
{
    int x;
    begin(argc, argv);
    MPI_Recv(&x, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end();
}
