/* Lengths of arrays that no argument says, and room for arrays. */
#include "dialect.h"

#include <stdio.h>

void *fit_room(long n, size_t size, void *few)
{
    void *p = n <= FIT_FEW ? few : malloc((size_t)n * size);
    if (!p) {
        fprintf(stderr, "fitmpi: no memory for %ld handles or statuses\n", n);
        abort();
    }
    return p;
}

/* fit_peers is the number of ranks that a collective exchanges data with. */
long fit_peers(uintptr_t comm)
{
    int inter = 0, n = 0;
    if (comm == ABI_COMM_NULL || abi_Comm_test_inter(comm, &inter))
        return 0;
    if (inter)
        abi_Comm_remote_size(comm, &n);
    else
        abi_Comm_size(comm, &n);
    return n;
}

/* degree is the number of neighbours of a rank: those that it receives from, or sends to. */
static long degree(uintptr_t comm, int out)
{
    int topology = 0, n = 0, other = 0, weighted = 0, rank = 0;
    if (comm == ABI_COMM_NULL || abi_Topo_test(comm, &topology))
        return 0;
    switch (topology) {
    case ABI_CART:
        abi_Cartdim_get(comm, &n);
        return 2L * n;
    case ABI_GRAPH:
        abi_Comm_rank(comm, &rank);
        abi_Graph_neighbors_count(comm, rank, &n);
        return n;
    case ABI_DIST_GRAPH:
        abi_Dist_graph_neighbors_count(comm, &n, &other, &weighted);
        return out ? other : n;
    }
    return 0;
}

long fit_indegree(uintptr_t comm) { return degree(comm, 0); }

long fit_outdegree(uintptr_t comm) { return degree(comm, 1); }

int fit_at_root(uintptr_t comm, int root)
{
    int rank = 0;
    return comm != ABI_COMM_NULL && !abi_Comm_rank(comm, &rank) && rank == root;
}

long fit_sum(const int *list, int n)
{
    long sum = 0;
    for (int i = 0; list && i < n; i++)
        sum += list[i];
    return sum;
}

void fit_text(char *to, const char *from, size_t room)
{
    size_t n = strlen(from);
    if (n >= room)
        n = room - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

/* Numbers that are no codes are kept above those that a program may add. */
enum { ODD = 1 << 29 };

int fit_added_in(int code, int last)
{
    if (code >= last)
        return code - last + ABI_ERR_LASTCODE;
    return code > 0 && code < ODD ? code + ODD : ABI_ERR_UNKNOWN;
}

int fit_added_out(int code, int last)
{
    if (code >= ODD)
        return code - ODD;
    return code >= ABI_ERR_LASTCODE ? code - ABI_ERR_LASTCODE + last : code;
}
