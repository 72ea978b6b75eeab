/* Topologies and collectives among neighbours. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm ring, graph;
    int dims[1] = {0}, periods[1] = {1}, left, right, kind, in[2] = {-1, -1}, out, n, w, weighted;
    begin(argc, argv);
    OK(MPI_Dims_create(size, 1, dims));
    CHECK(dims[0] == size);
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring));
    OK(MPI_Topo_test(ring, &kind));
    CHECK(kind == MPI_CART);
    OK(MPI_Cart_shift(ring, 0, 1, &left, &right));
    CHECK(left == (rank + size - 1) % size && right == (rank + 1) % size);
    out = rank;
    OK(MPI_Neighbor_allgather(&out, 1, MPI_INT, in, 1, MPI_INT, ring));
    CHECK(in[0] == left && in[1] == right);
    OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Dist_graph_neighbors_count(graph, &n, &w, &weighted));
    CHECK(n == 1 && w == 1 && !weighted);
    OK(MPI_Neighbor_alltoall(&out, 1, MPI_INT, in, 1, MPI_INT, graph));
    CHECK(in[0] == left);
    OK(MPI_Comm_free(&graph));
    OK(MPI_Comm_free(&ring));
    return end();
}
