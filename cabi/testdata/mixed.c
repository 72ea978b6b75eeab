/* The rank in C of a job whose other rank is in Go: testdata/mixed. */
#include "check.h"

int main(int argc, char **argv)
{
    int out[3] = {1, 2, 3}, in[6] = {0}, sum = 0, one = 1;
    double d[2];
    MPI_Datatype pairs;
    begin(argc, argv);
    int other = 1 - rank;
    OK(MPI_Send(out, 3, MPI_INT, other, 0, MPI_COMM_WORLD));
    OK(MPI_Recv(d, 2, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(d[0] == 1.5 && d[1] == 2.5);
    OK(MPI_Type_vector(3, 1, 2, MPI_INT, &pairs));
    OK(MPI_Type_commit(&pairs));
    OK(MPI_Recv(in, 1, pairs, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in[0] == 4 && in[2] == 5 && in[4] == 6 && in[1] == 0);
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == 2);
    /* A Go rank that receives another kind is told. */
    OK(MPI_Send(d, 1, MPI_DOUBLE, other, 2, MPI_COMM_WORLD));
    return end();
}
