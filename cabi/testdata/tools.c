/* The tool information interface, which has no variable to show. */
#include "check.h"

int main(int argc, char **argv)
{
    int n = -1, provided, i;
    MPI_T_pvar_session s;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    begin(argc, argv);
    OK(MPI_T_cvar_get_num(&n));
    CHECK(n == 0);
    OK(MPI_T_pvar_get_num(&n));
    CHECK(n == 0);
    OK(MPI_T_category_get_num(&n));
    CHECK(n == 0);
    CHECK(MPI_T_cvar_get_index("eager", &i) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_pvar_session_create(&s));
    OK(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES));
    CHECK(MPI_T_pvar_read(s, MPI_T_PVAR_HANDLE_NULL, &n) == MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_session_free(&s));
    CHECK(s == MPI_T_PVAR_SESSION_NULL && MPI_T_pvar_session_free(&s) == MPI_T_ERR_INVALID_SESSION);
    OK(MPI_T_finalize());
    CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    return end();
}
