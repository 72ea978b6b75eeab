/* A session, without MPI_Init. */
#include "check.h"

int main(void)
{
    MPI_Session s;
    MPI_Group g;
    MPI_Comm c;
    int n, x = 1, y = 0;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s));
    OK(MPI_Session_get_num_psets(s, MPI_INFO_NULL, &n));
    CHECK(n >= 2);
    OK(MPI_Group_from_session_pset(s, "mpi://WORLD", &g));
    OK(MPI_Comm_create_from_group(g, "test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c));
    OK(MPI_Comm_rank(c, &rank));
    OK(MPI_Comm_size(c, &size));
    OK(MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, c));
    CHECK(y == size);
    OK(MPI_Comm_free(&c));
    OK(MPI_Group_free(&g));
    OK(MPI_Group_from_session_pset(s, "mpi://self", &g));
    OK(MPI_Group_size(g, &n));
    CHECK(n == 1);
    OK(MPI_Group_free(&g));
    OK(MPI_Session_finalize(&s));
    CHECK(s == MPI_SESSION_NULL);
    if (rank == 0)
        printf("all right\n");
    return 0;
}
