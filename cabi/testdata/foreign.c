/* What another library's interface has that differs: constants, statuses, callbacks, attributes. It
 * is compiled with the wrapper of that library, and runs on this one. */
#include "check.h"
#include <unistd.h>

static int calls;

static void take_greater(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int size = 0, *a = in, *b = inout;
    OK(MPI_Type_size(*type, &size));
    CHECK(size == (int)sizeof(int) && *type == MPI_INT);
    for (int i = 0; i < *n; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
    calls++;
}

static void operations(void)
{
    MPI_Op op;
    int v = rank, result[2] = {rank, -rank}, many[1000] = {rank};
    OK(MPI_Op_create(take_greater, 1, &op));
    OK(MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, op, MPI_COMM_WORLD));
    CHECK(v == size - 1);
    /* So long that every rank combines, not only one of them. */
    OK(MPI_Allreduce(MPI_IN_PLACE, many, 1000, MPI_INT, op, MPI_COMM_WORLD));
    CHECK(many[0] == size - 1 && many[999] == 0 && (size == 1 || calls > 0));
    OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
    OK(MPI_Allreduce(MPI_IN_PLACE, result, 2, MPI_INT, MPI_MIN, MPI_COMM_WORLD));
    CHECK(result[0] == 0 && result[1] == 1 - size);
    struct { double d; int i; } pair = {rank % 2, rank};
    OK(MPI_Allreduce(MPI_IN_PLACE, &pair, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD));
    CHECK(pair.i == (size > 1));
}

static void statuses(void)
{
    MPI_Status st, sts[2];
    MPI_Request r[2];
    int in[4] = {0}, n = 0, flag = 0;
    OK(MPI_Recv(in, 4, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &st));
    CHECK(st.MPI_SOURCE == MPI_PROC_NULL && st.MPI_TAG == MPI_ANY_TAG);
    OK(MPI_Get_count(&st, MPI_INT, &n));
    CHECK(n == 0);
    OK(MPI_Irecv(in, 4, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &r[0]));
    OK(MPI_Isend(&rank, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &r[1]));
    OK(MPI_Waitall(2, r, sts));
    CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
    CHECK(sts[0].MPI_SOURCE == 0 && sts[0].MPI_TAG == 7 && in[0] == rank);
    OK(MPI_Get_count(&sts[0], MPI_INT, &n));
    CHECK(n == 1);
    OK(MPI_Get_count(&sts[0], MPI_DOUBLE, &n));
    CHECK(n == MPI_UNDEFINED);
    OK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
    OK(MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
    OK(MPI_Status_set_elements(&st, MPI_DOUBLE, 5));
    OK(MPI_Status_set_cancelled(&st, 1));
    OK(MPI_Get_elements(&st, MPI_INT, &n));
    OK(MPI_Test_cancelled(&st, &flag));
    CHECK(n == 10 && flag);
    st.MPI_ERROR = MPI_ERR_TOPOLOGY;
    OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, &st));
    CHECK(!flag && st.MPI_ERROR == MPI_ERR_TOPOLOGY);
}

static MPI_Comm seen;
static int code_seen;

static void handler(MPI_Comm *comm, int *code, ...)
{
    seen = *comm;
    code_seen = *code;
}

static void errors(void)
{
    MPI_Errhandler h;
    int class, code, n;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Comm_create_errhandler(handler, &h));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, h));
    CHECK(MPI_Send(&n, 1, MPI_INT, size, 0, MPI_COMM_WORLD) == MPI_ERR_RANK);
    CHECK(seen == MPI_COMM_WORLD && code_seen == MPI_ERR_RANK);
    OK(MPI_Errhandler_free(&h));
    CHECK(h == MPI_ERRHANDLER_NULL);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK(MPI_Send(&n, 1, MPI_INT, 0, -5, MPI_COMM_WORLD) == MPI_ERR_TAG);
    CHECK(MPI_Send(&n, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) == MPI_ERR_COUNT);
    CHECK(MPI_Bcast(&n, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD) == MPI_ERR_TYPE);
    OK(MPI_Add_error_class(&class));
    CHECK(class > MPI_ERR_LASTCODE);
    OK(MPI_Add_error_code(MPI_ERR_TRUNCATE, &code));
    OK(MPI_Add_error_string(code, "cut off"));
    OK(MPI_Error_class(code, &class));
    OK(MPI_Error_string(code, text, &n));
    CHECK(class == MPI_ERR_TRUNCATE && !strcmp(text, "cut off") && n == 7);
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

static int copies, deletes;

static int copy_fn(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    CHECK(comm == MPI_COMM_WORLD && extra == &copies && in == &rank && key != MPI_KEYVAL_INVALID);
    *(void **)out = &size;
    *flag = 1;
    return copies++, MPI_SUCCESS;
}

static int delete_fn(MPI_Comm comm, int key, void *value, void *extra)
{
    CHECK(comm != MPI_COMM_NULL && extra == &copies && (value == &size || value == &rank) && key != MPI_KEYVAL_INVALID);
    return deletes++ ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void attributes(void)
{
    int key, plain, flag, *value;
    MPI_Comm dup;
    OK(MPI_Comm_create_keyval(copy_fn, delete_fn, &key, &copies));
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &plain, NULL));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &rank));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, plain, &rank));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_get_attr(dup, key, &value, &flag));
    CHECK(flag && value == &size && copies == 1);
    OK(MPI_Comm_get_attr(dup, plain, &value, &flag));
    CHECK(!flag);
    OK(MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN));
    CHECK(MPI_Comm_delete_attr(dup, key) == MPI_ERR_OTHER);
    OK(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL && deletes == 2);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
    CHECK(flag && *value >= 32767);
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag));
    CHECK(flag && (*value == MPI_ANY_SOURCE || *value == rank));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK(flag && *value >= MPI_ERR_LASTCODE);
}

static void datatypes(void)
{
    int gsizes[2] = {8, 6}, distribs[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE}, psizes[2] = {2, 1};
    int dargs[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG}, ni, na, nd, how, ints[32];
    MPI_Aint addresses[1];
    MPI_Datatype t, u, parts[1];
    OK(MPI_Type_create_darray(2, 0, 2, gsizes, distribs, dargs, psizes, MPI_ORDER_FORTRAN, MPI_DOUBLE, &t));
    OK(MPI_Type_get_envelope(t, &ni, &na, &nd, &how));
    CHECK(how == MPI_COMBINER_DARRAY && ni == 12 && nd == 1);
    OK(MPI_Type_get_contents(t, ni, na, nd, ints, addresses, parts));
    CHECK(ints[5] == MPI_DISTRIBUTE_BLOCK && ints[6] == MPI_DISTRIBUTE_NONE && ints[7] == MPI_DISTRIBUTE_DFLT_DARG);
    CHECK(ints[11] == MPI_ORDER_FORTRAN && parts[0] == MPI_DOUBLE);
    OK(MPI_Type_vector(2, 1, 3, t, &u));
    OK(MPI_Type_get_envelope(u, &ni, &na, &nd, &how));
    CHECK(how == MPI_COMBINER_VECTOR);
    OK(MPI_Type_free(&u));
    OK(MPI_Type_free(&t));
    CHECK(t == MPI_DATATYPE_NULL);
    OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, sizeof(double), &t));
    OK(MPI_Type_size(t, &ni));
    CHECK(ni == sizeof(double));
}

static void communicators(void)
{
    MPI_Comm cart, graph, shared;
    MPI_Group world, some;
    int dims[1] = {size}, periods[1] = {0}, from, to, kind, degree = 1, next = (rank + 1) % size, result;
    int ranks1[2] = {0, MPI_PROC_NULL}, ranks2[2];
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &cart));
    OK(MPI_Cart_shift(cart, 0, 1, &from, &to));
    CHECK(rank > 0 || from == MPI_PROC_NULL);
    CHECK(rank < size - 1 || to == MPI_PROC_NULL);
    OK(MPI_Topo_test(cart, &kind));
    CHECK(kind == MPI_CART);
    OK(MPI_Comm_compare(cart, MPI_COMM_WORLD, &result));
    CHECK(result == MPI_CONGRUENT);
    OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &degree, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph));
    OK(MPI_Topo_test(graph, &kind));
    CHECK(kind == MPI_DIST_GRAPH);
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    OK(MPI_Group_excl(world, 1, ranks1, &some));
    CHECK(size > 1 || some == MPI_GROUP_EMPTY);
    OK(MPI_Group_translate_ranks(world, 2, ranks1, some, ranks2));
    CHECK(ranks2[0] == MPI_UNDEFINED && ranks2[1] == MPI_PROC_NULL);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &shared));
    CHECK(shared != MPI_COMM_NULL);
    OK(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &cart));
    CHECK(cart == MPI_COMM_NULL);
}

static void windows(void)
{
    MPI_Win win;
    int *base, flag, *how, one = 1;
    OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    *base = 0;
    OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &how, &flag));
    CHECK(flag && *how == MPI_WIN_FLAVOR_ALLOCATE);
    OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &how, &flag));
    CHECK(flag && *how == MPI_WIN_UNIFIED);
    OK(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    OK(MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(rank > 0 || *base == size);
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, MPI_MODE_NOCHECK, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
}

static void files(void)
{
    char name[64];
    MPI_File f;
    int v = 42, mode;
    MPI_Offset end;
    snprintf(name, sizeof name, "/tmp/fitmpi-foreign-%d-%d", (int)getpid(), rank);
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &f) == MPI_ERR_NO_SUCH_FILE);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f));
    OK(MPI_File_write(f, &v, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_seek(f, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(f, &end));
    OK(MPI_File_get_amode(f, &mode));
    CHECK(end == 4 && mode == (MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE));
    OK(MPI_File_close(&f));
    CHECK(f == MPI_FILE_NULL);
}

static int query_fn(void *extra, MPI_Status *st)
{
    CHECK(extra == &calls);
    st->MPI_SOURCE = MPI_UNDEFINED;
    st->MPI_TAG = 3;
    OK(MPI_Status_set_elements(st, MPI_INT, 2));
    return MPI_Status_set_cancelled(st, 0);
}

static int free_fn(void *extra) { return extra == &calls ? MPI_SUCCESS : MPI_ERR_OTHER; }

static int cancel_fn(void *extra, int complete) { return (void)extra, (void)complete, MPI_SUCCESS; }

static void requests(void)
{
    MPI_Request r;
    MPI_Status st;
    int n;
    OK(MPI_Grequest_start(query_fn, free_fn, cancel_fn, &calls, &r));
    OK(MPI_Grequest_complete(r));
    OK(MPI_Wait(&r, &st));
    OK(MPI_Get_count(&st, MPI_INT, &n));
    CHECK(st.MPI_TAG == 3 && n == 2 && r == MPI_REQUEST_NULL);
}

int main(int argc, char **argv)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int n, level;
    OK(MPI_Get_library_version(version, &n));
    CHECK(strstr(version, "FitMPI") && n == (int)strlen(version));
    begin(argc, argv);
    OK(MPI_Query_thread(&level));
    CHECK(level == MPI_THREAD_MULTIPLE);
    operations();
    statuses();
    errors();
    attributes();
    datatypes();
    communicators();
    windows();
    files();
    requests();
    return end();
}
