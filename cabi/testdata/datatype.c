/* Datatypes: constructors, extents, contents, packing, messages, large counts. */
#include "check.h"

#include <wchar.h>

#include <stddef.h>

struct body {
    double x[3];
    int id;
    char tag;
};

static void extents(void)
{
    MPI_Datatype v, r;
    MPI_Aint lb, extent;
    MPI_Count big;
    int n;
    OK(MPI_Type_vector(3, 2, 5, MPI_INT, &v));
    OK(MPI_Type_size(v, &n));
    OK(MPI_Type_get_extent(v, &lb, &extent));
    CHECK(n == 24 && lb == 0 && extent == 48);
    OK(MPI_Type_create_resized(v, -4, 100, &r));
    OK(MPI_Type_get_extent(r, &lb, &extent));
    CHECK(lb == -4 && extent == 100);
    OK(MPI_Type_get_true_extent(r, &lb, &extent));
    CHECK(lb == 0 && extent == 48);
    OK(MPI_Type_free(&r));
    OK(MPI_Type_contiguous_c((MPI_Count)1 << 33, MPI_INT, &r));
    OK(MPI_Type_size_c(r, &big));
    CHECK(big == (MPI_Count)1 << 35);
    OK(MPI_Type_size(r, &n));
    CHECK(n == MPI_UNDEFINED);
    OK(MPI_Type_free(&r));
    OK(MPI_Type_free(&v));
    CHECK(v == MPI_DATATYPE_NULL);
}

static void contents(void)
{
    MPI_Datatype v, of[1];
    int ni, na, nd, combiner, ints[3];
    MPI_Aint addrs[1];
    OK(MPI_Type_create_hvector(3, 2, 50, MPI_DOUBLE, &v));
    OK(MPI_Type_get_envelope(v, &ni, &na, &nd, &combiner));
    CHECK(ni == 2 && na == 1 && nd == 1 && combiner == MPI_COMBINER_HVECTOR);
    OK(MPI_Type_get_contents(v, 3, 1, 1, ints, addrs, of));
    CHECK(ints[0] == 3 && ints[1] == 2 && addrs[0] == 50 && of[0] == MPI_DOUBLE);
    OK(MPI_Type_free(&v));
}

static void structs(int right, int left)
{
    struct body b = {{1, 2, 3}, rank, 'a'}, got[2];
    int lens[3] = {3, 1, 1}, n;
    MPI_Aint at[3] = {offsetof(struct body, x), offsetof(struct body, id), offsetof(struct body, tag)};
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR}, t, all;
    MPI_Status s;
    OK(MPI_Type_create_struct(3, lens, at, types, &t));
    OK(MPI_Type_create_resized(t, 0, sizeof b, &all));
    OK(MPI_Type_commit(&all));
    OK(MPI_Sendrecv(&b, 1, all, right, 0, &got[1], 1, all, left, 0, MPI_COMM_WORLD, &s));
    CHECK(got[1].x[2] == 3 && got[1].id == left && got[1].tag == 'a');
    OK(MPI_Get_count(&s, all, &n));
    CHECK(n == 1);
    OK(MPI_Get_elements(&s, all, &n));
    CHECK(n == 5);
    struct body out[2] = {b, b};
    out[1].id = 77;
    OK(MPI_Sendrecv(out, 2, all, right, 0, got, 2, all, left, 0, MPI_COMM_WORLD, &s));
    CHECK(got[1].id == 77 && got[0].id == left);
    OK(MPI_Type_free(&t));
    OK(MPI_Type_free(&all));
}

/* absolute sends by addresses, from MPI_BOTTOM. */
static void absolute(int right, int left)
{
    int a = rank, b = 2 * rank, c[2], lens[2] = {1, 1};
    MPI_Aint at[2];
    MPI_Datatype t;
    OK(MPI_Get_address(&b, &at[0]));
    OK(MPI_Get_address(&a, &at[1]));
    OK(MPI_Type_create_hindexed(2, lens, at, MPI_INT, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Sendrecv(MPI_BOTTOM, 1, t, right, 0, c, 2, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(c[0] == 2 * left && c[1] == left);
    OK(MPI_Type_free(&t));
}

static void packing(void)
{
    char buf[64];
    int n = 0, room, i = 5, sizes[2] = {4, 4}, sub[2] = {2, 2}, from[2] = {1, 1}, grid[16], inner[4];
    double d = 2.5;
    MPI_Datatype t;
    MPI_Aint at = 0, external;
    OK(MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &room));
    CHECK(room >= 4);
    OK(MPI_Pack(&i, 1, MPI_INT, buf, sizeof buf, &n, MPI_COMM_WORLD));
    OK(MPI_Pack(&d, 1, MPI_DOUBLE, buf, sizeof buf, &n, MPI_COMM_WORLD));
    n = i = 0;
    d = 0;
    OK(MPI_Unpack(buf, sizeof buf, &n, &i, 1, MPI_INT, MPI_COMM_WORLD));
    OK(MPI_Unpack(buf, sizeof buf, &n, &d, 1, MPI_DOUBLE, MPI_COMM_WORLD));
    CHECK(i == 5 && d == 2.5);
    OK(MPI_Type_create_subarray(2, sizes, sub, from, MPI_ORDER_C, MPI_INT, &t));
    OK(MPI_Type_commit(&t));
    for (int k = 0; k < 16; k++)
        grid[k] = k;
    n = 0;
    OK(MPI_Pack(grid, 1, t, inner, sizeof inner, &n, MPI_COMM_WORLD));
    CHECK(inner[0] == 5 && inner[1] == 6 && inner[2] == 9 && inner[3] == 10);
    OK(MPI_Type_free(&t));
    OK(MPI_Pack_external_size("external32", 1, MPI_INT, &external));
    i = 1;
    OK(MPI_Pack_external("external32", &i, 1, MPI_INT, buf, external, &at));
    CHECK(external == 4 && buf[0] == 0 && buf[3] == 1);
}

/* external32 has sizes of its own: 4 bytes of a long, 2 of a wchar_t, quadruples of long double. */
static void external32(void)
{
    static const unsigned char want[] = {
        0xFF, 0xFF, 0xFF, 0xFE, 0, 7,                               /* -2, 7 */
        0xC0, 0x00, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    /* -2.5L */
        0x3F, 0xFD, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x56, 0, 0, 0, 0, 0, 0, /* 1/3, to 64 bits */
        0, 0, 0, 9, 0, 0, 0, 8,                                     /* MPI_LONG_INT */
    };
    struct {
        long l;
        wchar_t w;
        long double d[2];
        struct {
            long l;
            int i;
        } pair;
    } v = {-2, 7, {-2.5L, 1 / 3.0L}, {9, 8}}, back;
    int counts[] = {1, 1, 2, 1};
    MPI_Aint size, at = 0, at2 = 0, displs[] = {(char *)&v.l - (char *)&v, (char *)&v.w - (char *)&v,
                                                (char *)&v.d - (char *)&v, (char *)&v.pair - (char *)&v};
    MPI_Datatype types[] = {MPI_LONG, MPI_WCHAR, MPI_LONG_DOUBLE, MPI_LONG_INT}, t;
    unsigned char buf[2 * sizeof want];
    long big = 1L << 31;
    OK(MPI_Type_create_struct(4, counts, displs, types, &t));
    OK(MPI_Type_commit(&t));
    OK(MPI_Pack_external_size("external32", 2, t, &size));
    CHECK(size == sizeof buf);
    OK(MPI_Pack_external("external32", &v, 1, t, buf, sizeof buf, &at));
    CHECK(at == sizeof want);
    for (size_t i = 0; i < sizeof want; i++)
        if (sizeof(long double) == 16 && __LDBL_MANT_DIG__ == 64)
            CHECK(buf[i] == want[i]);
    memset(&back, 0, sizeof back);
    OK(MPI_Unpack_external("external32", buf, sizeof buf, &at2, &back, 1, t));
    CHECK(at2 == at && back.l == -2 && back.w == 7 && back.d[0] == -2.5L && back.d[1] == v.d[1]);
    CHECK(back.pair.l == 9 && back.pair.i == 8);
    OK(MPI_Type_free(&t));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    at = 0;
    CHECK(MPI_Pack_external("external32", &big, 1, MPI_LONG, buf, sizeof buf, &at) == MPI_ERR_CONVERSION && at == 0);
    CHECK(MPI_Unpack_external("external32", buf, 3, &at, &big, 1, MPI_LONG) == MPI_ERR_TRUNCATE);
    OK(MPI_Pack_external("external32", &big, 1, MPI_UNSIGNED_LONG, buf, sizeof buf, &at));
    CHECK(at == 4 && buf[0] == 0x80);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    extents();
    contents();
    structs(right, left);
    absolute(right, left);
    packing();
    external32();
    return end();
}
