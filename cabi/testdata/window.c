/* Windows: made and allocated, fences, locks, posts, accumulates, shared memory, attributes. */
#include "check.h"

static void fences(int right, int left)
{
    int mem[4] = {0, 0, 0, 0}, x = 10 + rank, y = -1;
    MPI_Win w;
    OK(MPI_Win_create(mem, sizeof mem, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &w));
    OK(MPI_Win_fence(0, w));
    OK(MPI_Put(&x, 1, MPI_INT, right, 1, 1, MPI_INT, w));
    OK(MPI_Win_fence(0, w));
    CHECK(mem[1] == 10 + left);
    OK(MPI_Get(&y, 1, MPI_INT, right, 1, 1, MPI_INT, w));
    OK(MPI_Win_fence(0, w));
    CHECK(y == 10 + rank);
    OK(MPI_Accumulate(&x, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_SUM, w));
    OK(MPI_Win_fence(0, w));
    CHECK(rank || mem[3] == 10 * size + size * (size - 1) / 2);
    OK(MPI_Win_free(&w));
    CHECK(w == MPI_WIN_NULL);
}

static void locks(int right)
{
    long *mem, one = 1, got, compare;
    int flag, *unit;
    MPI_Aint *bytes;
    MPI_Win w;
    OK(MPI_Win_allocate(2 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &mem, &w));
    OK(MPI_Win_get_attr(w, MPI_WIN_SIZE, &bytes, &flag));
    CHECK(flag && *bytes == 2 * sizeof(long));
    OK(MPI_Win_get_attr(w, MPI_WIN_DISP_UNIT, &unit, &flag));
    CHECK(flag && *unit == sizeof(long));
    mem[0] = mem[1] = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock_all(0, w));
    OK(MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, w));
    OK(MPI_Win_flush(0, w));
    CHECK(got >= 0 && got < size);
    compare = 0;
    OK(MPI_Compare_and_swap(&one, &compare, &got, MPI_LONG, right, 1, w));
    OK(MPI_Win_unlock_all(w));
    CHECK(got == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, w));
    CHECK(mem[1] == 1 && (rank || mem[0] == size));
    OK(MPI_Win_unlock(rank, w));
    OK(MPI_Win_free(&w));
}

/* columns puts a column into a row, by two datatypes. */
static void columns(int right, int left)
{
    double mem[9] = {0}, from[9];
    MPI_Datatype column;
    MPI_Win w;
    for (int i = 0; i < 9; i++)
        from[i] = 100 * rank + i;
    OK(MPI_Type_vector(3, 1, 3, MPI_DOUBLE, &column));
    OK(MPI_Type_commit(&column));
    OK(MPI_Win_create(mem, sizeof mem, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w));
    OK(MPI_Win_fence(0, w));
    OK(MPI_Put(from, 3, MPI_DOUBLE, right, sizeof(double), 1, column, w));
    OK(MPI_Win_fence(0, w));
    CHECK(mem[1] == 100 * left && mem[4] == 100 * left + 1 && mem[7] == 100 * left + 2 && mem[2] == 0);
    OK(MPI_Win_free(&w));
    OK(MPI_Type_free(&column));
}

/* dynamic attaches memory, which others reach by its address. */
static void dynamic(int right, int left)
{
    int mem = -1, x = rank;
    MPI_Aint mine, theirs;
    MPI_Win w;
    OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &w));
    OK(MPI_Win_attach(w, &mem, sizeof mem));
    OK(MPI_Get_address(&mem, &mine));
    OK(MPI_Sendrecv(&mine, 1, MPI_AINT, left, 0, &theirs, 1, MPI_AINT, right, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Win_fence(0, w));
    OK(MPI_Put(&x, 1, MPI_INT, right, theirs, 1, MPI_INT, w));
    OK(MPI_Win_fence(0, w));
    CHECK(mem == left);
    OK(MPI_Win_detach(w, &mem));
    OK(MPI_Win_free(&w));
}

/* Pairs as C has them, with gaps in some. */
#define LOCATED(name, type, handle)                                                                \
    static void name(int right, int left)                                                          \
    {                                                                                              \
        struct {                                                                                   \
            type value;                                                                            \
            int index;                                                                             \
        } mem[3], mine[3], got[3], packed[2];                                                      \
        MPI_Datatype apart;                                                                        \
        MPI_Win w;                                                                                 \
        memset(mem, 0xEE, sizeof mem);                                                             \
        for (int i = 0; i < 3; i++) {                                                              \
            mem[i].value = 5 * i;                                                                  \
            mem[i].index = 40;                                                                     \
            mine[i].value = 5;                                                                     \
            mine[i].index = rank;                                                                  \
        }                                                                                          \
        OK(MPI_Type_vector(2, 1, 2, handle, &apart));                                              \
        OK(MPI_Type_commit(&apart));                                                               \
        OK(MPI_Win_create(mem, sizeof mem, sizeof mem[0], MPI_INFO_NULL, MPI_COMM_WORLD, &w));     \
        OK(MPI_Win_fence(0, w));                                                                   \
        OK(MPI_Accumulate(mine, 3, handle, right, 0, 3, handle, MPI_MAXLOC, w));                   \
        OK(MPI_Win_fence(0, w));                                                                   \
        CHECK(mem[0].value == 5 && mem[0].index == left);                                          \
        CHECK(mem[1].value == 5 && mem[1].index == left);                                          \
        CHECK(mem[2].value == 10 && mem[2].index == 40);                                           \
        OK(MPI_Win_fence(0, w)); /* no rank goes on before all have looked */                      \
        OK(MPI_Accumulate(mine, 1, apart, right, 0, 1, apart, MPI_MINLOC, w));                     \
        OK(MPI_Win_fence(0, w));                                                                   \
        CHECK(mem[2].value == 5 && mem[2].index == left);                                          \
        mine[0].value = 1;                                                                         \
        OK(MPI_Fetch_and_op(&mine[0], &got[0], handle, right, 1, MPI_REPLACE, w));                 \
        OK(MPI_Win_fence(0, w));                                                                   \
        CHECK(got[0].value == 5 && got[0].index == rank);                                          \
        CHECK(mem[1].value == 1 && mem[1].index == left);                                          \
        OK(MPI_Win_fence(0, w)); /* no rank goes on before all have looked */                      \
        packed[0] = mine[1], packed[1] = mine[2]; /* origin and result have layouts of their own */\
        OK(MPI_Get_accumulate(packed, 2, handle, got, 1, apart, right, 0, 1, apart, MPI_REPLACE, w));\
        OK(MPI_Win_fence(0, w));                                                                   \
        CHECK(got[0].value == 5 && got[0].index == rank && got[2].value == 5);                     \
        CHECK(mem[0].value == 5 && mem[0].index == left);                                          \
        OK(MPI_Win_fence(0, w)); /* no rank goes on before all have looked */                      \
        OK(MPI_Get_accumulate(NULL, 0, handle, got, 3, handle, right, 0, 3, handle, MPI_NO_OP, w));\
        OK(MPI_Win_fence(0, w));                                                                   \
        CHECK(got[1].value == 1 && got[2].index == rank);                                          \
        OK(MPI_Win_free(&w));                                                                      \
        OK(MPI_Type_free(&apart));                                                                 \
    }
LOCATED(floats, float, MPI_FLOAT_INT)
LOCATED(doubles, double, MPI_DOUBLE_INT)
LOCATED(longs, long, MPI_LONG_INT)
LOCATED(ints, int, MPI_2INT)
LOCATED(shorts, short, MPI_SHORT_INT)
LOCATED(wides, long double, MPI_LONG_DOUBLE_INT)

/* wide adds long doubles, some of them by a layout. */
static void wide(int right)
{
    long double mem[4] = {0}, mine[4] = {1.5L, 2, 1e4000L, 4}, got = 0;
    MPI_Datatype apart;
    MPI_Win w;
    OK(MPI_Type_vector(2, 1, 2, MPI_LONG_DOUBLE, &apart));
    OK(MPI_Type_commit(&apart));
    OK(MPI_Win_create(mem, sizeof mem, sizeof mem[0], MPI_INFO_NULL, MPI_COMM_WORLD, &w));
    OK(MPI_Win_fence(0, w));
    OK(MPI_Accumulate(mine, 4, MPI_LONG_DOUBLE, right, 0, 4, MPI_LONG_DOUBLE, MPI_SUM, w));
    OK(MPI_Accumulate(mine, 1, apart, right, 0, 1, apart, MPI_SUM, w));
    OK(MPI_Win_fence(0, w));
    CHECK(mem[0] == 3 && mem[1] == 2 && mem[2] == 2e4000L && mem[3] == 4);
    OK(MPI_Win_fence(0, w));
    OK(MPI_Fetch_and_op(&mine[1], &got, MPI_LONG_DOUBLE, right, 3, MPI_PROD, w));
    OK(MPI_Win_fence(0, w));
    CHECK(got == 4 && mem[3] == 8);
    OK(MPI_Win_free(&w));
    OK(MPI_Type_free(&apart));
}

static void shared(void)
{
    MPI_Comm node;
    MPI_Win w;
    int *mine, *first, unit, n;
    MPI_Aint bytes;
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    OK(MPI_Comm_size(node, &n));
    OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &w));
    OK(MPI_Win_shared_query(w, 0, &bytes, &unit, &first));
    CHECK(bytes == sizeof(int) && unit == sizeof(int));
    OK(MPI_Win_lock_all(0, w));
    *mine = rank + 1;
    OK(MPI_Win_sync(w));
    OK(MPI_Barrier(node));
    OK(MPI_Win_sync(w));
    CHECK(first[0] == 1);
    OK(MPI_Win_unlock_all(w));
    OK(MPI_Win_free(&w));
    OK(MPI_Comm_free(&node));
}

int main(int argc, char **argv)
{
    const char *transport = getenv("FITMPI_TRANSPORT");
    begin(argc, argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    fences(right, left);
    locks(right);
    columns(right, left);
    dynamic(right, left);
    floats(right, left);
    doubles(right, left);
    longs(right, left);
    ints(right, left);
    shorts(right, left);
    wides(right, left);
    wide(right);
    if (!transport || strcmp(transport, "tcp")) /* over TCP alone ranks share no memory */
        shared();
    return end();
}
