/* A job that starts another, of the same program, and what both can do then. */
#include "check.h"
#include <string.h>
#include <sys/socket.h>

/* both is what parents and children do with each other. */
static void both(MPI_Comm inter, int side)
{
    MPI_Comm all;
    int remote, r, x, y = -1, sum, n;
    OK(MPI_Comm_remote_size(inter, &remote));
    for (r = 0; r < remote; r++) {
        x = 10 * side + rank;
        OK(MPI_Sendrecv(&x, 1, MPI_INT, r, r, &y, 1, MPI_INT, r, rank, inter, MPI_STATUS_IGNORE));
        CHECK(y == 10 * (1 - side) + r);
    }
    OK(MPI_Intercomm_merge(inter, side, &all));
    OK(MPI_Comm_size(all, &n));
    CHECK(n == size + remote);
    x = 1;
    OK(MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == n);
    OK(MPI_Comm_disconnect(&all));
    CHECK(all == MPI_COMM_NULL);
}

/* meet is two halves of the world that meet at a port. */
static void meet(void)
{
    MPI_Comm half, other;
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME] = "";
    int side = rank % 2, x, y;
    OK(MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half));
    if (rank == 0) {
        OK(MPI_Open_port(MPI_INFO_NULL, port));
        OK(MPI_Publish_name("cabi/spawn", MPI_INFO_NULL, port));
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (side == 0)
        OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other));
    else {
        if (rank == 1)
            OK(MPI_Lookup_name("cabi/spawn", MPI_INFO_NULL, found));
        OK(MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &other));
    }
    x = rank;
    OK(MPI_Sendrecv(&x, 1, MPI_INT, 0, 0, &y, 1, MPI_INT, 0, 0, other, MPI_STATUS_IGNORE));
    CHECK(y == 1 - side);
    OK(MPI_Comm_disconnect(&other));
    if (rank == 0) {
        OK(MPI_Unpublish_name("cabi/spawn", MPI_INFO_NULL, port));
        OK(MPI_Close_port(port));
    }
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter;
    int codes[2] = {-1, -1};
    char *args[] = {"child", NULL};
    OK(MPI_Init(&argc, &argv));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    OK(MPI_Comm_get_parent(&parent));
    if (parent != MPI_COMM_NULL) {
        char name[MPI_MAX_OBJECT_NAME];
        int len;
        CHECK(argc == 2 && strcmp(argv[1], "child") == 0);
        OK(MPI_Comm_get_name(parent, name, &len));
        CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
        both(parent, 1);
        OK(MPI_Comm_disconnect(&parent));
        OK(MPI_Finalize());
        return 0;
    }
    OK(MPI_Comm_spawn(argv[0], args, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes));
    CHECK(rank != 0 || (codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS));
    both(inter, 0);
    OK(MPI_Comm_disconnect(&inter));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_spawn("/nothing/here", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE) != MPI_SUCCESS);
    if (size == 2)
        meet();
    if (rank == 0)
        printf("all right\n");
    OK(MPI_Finalize());
    return 0;
}
