/* Error handlers, classes and codes. */
#include "check.h"

static int calls, seen;

static void handle(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm == MPI_COMM_WORLD);
    calls++;
    seen = *code;
    int r; /* a handler may call MPI */
    OK(MPI_Comm_rank(*comm, &r));
}

/* apart checks that buffers of collectives which are the same memory, or this rank's block of it,
 * are errors at every rank, so that none waits for another. */
static void apart(void)
{
    int all[64] = {0}, counts[16], places[16];
    MPI_Request r;
    CHECK(size <= 16);
    for (int i = 0; i < size; i++) {
        counts[i] = 2;
        places[i] = 2 * i;
    }
    MPI_Comm w = MPI_COMM_WORLD;
    CHECK(MPI_Allgather(all + 2 * rank, 2, MPI_INT, all, 2, MPI_INT, w) == MPI_ERR_BUFFER);
    CHECK(MPI_Iallgather(all + 2 * rank, 2, MPI_INT, all, 2, MPI_INT, w, &r) == MPI_ERR_BUFFER);
    CHECK(MPI_Allgatherv(all + 2 * rank, 2, MPI_INT, all, counts, places, MPI_INT, w) == MPI_ERR_BUFFER);
    CHECK(MPI_Alltoallv(all, counts, places, MPI_INT, all, counts, places, MPI_INT, w) == MPI_ERR_BUFFER);
    CHECK(MPI_Reduce_scatter(all, all, counts, MPI_INT, MPI_SUM, w) == MPI_ERR_BUFFER);
    CHECK(MPI_Reduce_scatter_block(all, all, 2, MPI_INT, MPI_SUM, w) == MPI_ERR_BUFFER);
    /* Blocks that do not overlap may lie in one array. */
    int to[16];
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        to[i] = 32 + i;
        all[i] = 100 * rank + i;
        places[i] = i;
    }
    OK(MPI_Alltoallv(all, counts, places, MPI_INT, all, counts, to, MPI_INT, w));
    for (int i = 0; i < size; i++)
        CHECK(all[32 + i] == 100 * i + rank);
}

int main(int argc, char **argv)
{
    MPI_Errhandler h, got;
    char text[MPI_MAX_ERROR_STRING];
    int n, class, code, x = 0;
    begin(argc, argv);
    OK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &got));
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    OK(MPI_Comm_create_errhandler(handle, &h));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, h));
    OK(MPI_Errhandler_free(&h));
    CHECK(h == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Send(&x, 1, MPI_INT, size, 0, MPI_COMM_WORLD) == MPI_ERR_RANK && calls == 1 && seen == MPI_ERR_RANK);
    CHECK(MPI_Send(&x, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT && calls == 2);
    CHECK(MPI_Send(&x, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    CHECK(MPI_Send(&x, 1, MPI_INT, 0, -7, MPI_COMM_WORLD) == MPI_ERR_TAG);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Bcast(&x, 1, MPI_INT, size, MPI_COMM_WORLD) == MPI_ERR_ROOT && calls == 4);
    CHECK(MPI_Allreduce(&x, &n, 1, MPI_BYTE, MPI_MAX, MPI_COMM_WORLD) == MPI_ERR_OP);
    CHECK(MPI_Reduce_local(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM) == MPI_ERR_BUFFER);
    CHECK(MPI_Allreduce(&x, &x, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_ERR_BUFFER);
    apart();
    /* Where a handle is to go is looked at before other arguments, and before others take part. */
    CHECK(MPI_Intercomm_create(MPI_COMM_WORLD, 0, MPI_COMM_WORLD, size, 0, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    CHECK(MPI_Irecv(&x, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    int key;
    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL));
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, NULL) == MPI_ERR_KEYVAL);
    OK(MPI_Type_free_keyval(&key));
    OK(MPI_Error_class(MPI_ERR_ROOT, &class));
    CHECK(class == MPI_ERR_ROOT);
    OK(MPI_Error_string(MPI_ERR_ROOT, text, &n));
    CHECK(n > 0 && n == (int)strlen(text));
    OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "ours"));
    OK(MPI_Error_string(code, text, &n));
    CHECK(!strcmp(text, "ours"));
    OK(MPI_Error_class(code, &n));
    CHECK(n == class);
    return end();
}
