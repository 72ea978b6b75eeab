/* Collectives: all of them, in place, with datatypes, nonblocking and persistent. */
#include "check.h"

enum { MOST = 16 };

static void moves(void)
{
    int all[2 * MOST], mine[2] = {rank, -rank}, counts[MOST], displs[MOST], got[2];
    OK(MPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, size - 1, MPI_COMM_WORLD));
    if (rank == size - 1)
        for (int i = 0; i < size; i++)
            CHECK(all[2 * i] == i && all[2 * i + 1] == -i);
    OK(MPI_Scatter(all, 2, MPI_INT, got, 2, MPI_INT, size - 1, MPI_COMM_WORLD));
    CHECK(got[0] == rank && got[1] == -rank);
    memset(all, 0, sizeof all);
    all[2 * rank] = rank;
    all[2 * rank + 1] = 9;
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 2, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++) {
        CHECK(all[2 * i] == i && all[2 * i + 1] == 9);
        counts[i] = 1;
        displs[i] = 2 * (size - 1 - i);
    }
    OK(MPI_Allgatherv(mine, 1, MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(all[displs[i]] == i && all[displs[i] + 1] == 9);
    for (int i = 0; i < size; i++)
        all[i] = 100 * rank + i;
    OK(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(all[i] == 100 * i + rank);
}

/* columns gathers columns of a matrix, whose layouts overlap. */
static void columns(void)
{
    double row[3] = {rank, rank + .5, rank + .25}, matrix[3 * MOST];
    MPI_Datatype column, thin;
    OK(MPI_Type_vector(3, 1, size, MPI_DOUBLE, &column));
    OK(MPI_Type_create_resized(column, 0, sizeof(double), &thin));
    OK(MPI_Type_commit(&thin));
    OK(MPI_Allgather(row, 3, MPI_DOUBLE, matrix, 1, thin, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(matrix[i] == i && matrix[size + i] == i + .5 && matrix[2 * size + i] == i + .25);
    OK(MPI_Type_free(&column));
    OK(MPI_Type_free(&thin));
}

static void reductions(void)
{
    int x = rank + 1, y = 0, in[MOST], out[MOST];
    struct { double v; int i; } at = {-rank, rank}, best;
    long double l = rank, sum = 0;
    OK(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(y == size * (size + 1) / 2);
    OK(MPI_Allreduce(&at, &best, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
    CHECK(best.v == 1 - size && best.i == size - 1);
    OK(MPI_Reduce(&l, &sum, 1, MPI_LONG_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD));
    CHECK(rank || sum == size * (size - 1) / 2);
    OK(MPI_Scan(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(y == (rank + 1) * (rank + 2) / 2);
    y = 1000;
    OK(MPI_Exscan(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(y == (rank ? rank * (rank + 1) / 2 : 1000));
    for (int i = 0; i < size; i++)
        in[i] = i;
    OK(MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(out[0] == rank * size);
    y = 5;
    OK(MPI_Reduce_local(&x, &y, 1, MPI_INT, MPI_PROD));
    CHECK(y == 5 * x);
}

/* Matrices of two by two, whose product is not commutative. */
static void multiply(void *a, void *b, int *n, MPI_Datatype *t)
{
    int bytes;
    OK(MPI_Type_size(*t, &bytes)); /* an operation may ask */
    CHECK(bytes == 16);
    for (int k = 0; k < *n; k++) {
        int *x = (int *)a + 5 * k, *y = (int *)b + 5 * k;
        int r[4] = {x[0] * y[0] + x[1] * y[2], x[0] * y[1] + x[1] * y[3], x[2] * y[0] + x[3] * y[2], x[2] * y[1] + x[3] * y[3]};
        memcpy(y, r, sizeof r);
    }
}

static void user_operation(void)
{
    int m[10] = {1, rank + 1, 0, 1, 7, 1, 0, rank, 1, 7}, r[10] = {0};
    MPI_Datatype four, padded;
    MPI_Op op;
    OK(MPI_Type_contiguous(4, MPI_INT, &four));
    OK(MPI_Type_create_resized(four, 0, 20, &padded));
    OK(MPI_Type_commit(&padded));
    OK(MPI_Op_create(multiply, 0, &op));
    OK(MPI_Allreduce(m, r, 2, padded, op, MPI_COMM_WORLD));
    CHECK(r[0] == 1 && r[1] == size * (size + 1) / 2 && r[3] == 1 && r[4] == 0);
    CHECK(r[7] == size * (size - 1) / 2 && r[9] == 0);
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
    OK(MPI_Type_free(&four));
    OK(MPI_Type_free(&padded));
}

static void forms(void)
{
    MPI_Request r[2], again;
    int x = rank, y = -1, z = rank == 0 ? 42 : 0;
    OK(MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Ibcast(&z, 1, MPI_INT, 0, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    CHECK(y == size - 1 && z == 42);
    OK(MPI_Allreduce_init(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &again));
    for (int i = 0; i < 3; i++) {
        x = rank + i;
        OK(MPI_Start(&again));
        OK(MPI_Wait(&again, MPI_STATUS_IGNORE));
        CHECK(y == size * (size - 1) / 2 + i * size);
    }
    OK(MPI_Request_free(&again));
}

/* each exchanges with datatypes of its own for each rank. */
static void each(void)
{
    int counts[MOST], displs[MOST], out[MOST], in[MOST];
    MPI_Datatype types[MOST];
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        displs[i] = (int)sizeof(int) * i;
        types[i] = MPI_INT;
        out[i] = 10 * rank + i;
    }
    OK(MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types, MPI_COMM_WORLD));
    for (int i = 0; i < size; i++)
        CHECK(in[i] == 10 * i + rank);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    moves();
    columns();
    reductions();
    user_operation();
    forms();
    each();
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return end();
}
