/* A message in partitions. */
#include "check.h"

int main(int argc, char **argv)
{
    int out[8], in[8], flag;
    MPI_Request r[2];
    begin(argc, argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    OK(MPI_Psend_init(out, 4, 2, MPI_INT, right, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]));
    OK(MPI_Precv_init(in, 2, 4, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]));
    for (int round = 0; round < 2; round++) {
        OK(MPI_Startall(2, r));
        for (int i = 0; i < 8; i++)
            out[i] = 100 * rank + 10 * round + i;
        OK(MPI_Pready(3, r[0]));
        OK(MPI_Pready_range(0, 2, r[0]));
        OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        for (int i = 0; i < 8; i++)
            CHECK(in[i] == 100 * left + 10 * round + i);
    }
    OK(MPI_Start(&r[1]));
    OK(MPI_Parrived(r[1], 0, &flag));
    OK(MPI_Start(&r[0]));
    OK(MPI_Pready_range(0, 3, r[0]));
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    OK(MPI_Request_free(&r[0]));
    OK(MPI_Request_free(&r[1]));
    return end();
}
