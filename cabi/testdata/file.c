/* Files: opening, views, offsets, pointers, collective and split access. */
#include "check.h"

#include <unistd.h>

enum { N = 10 };

/* reversing is a representation of ints with their bytes in the other order, and 2 bytes more. */
static int reads, extra;

static int extent(MPI_Datatype t, MPI_Aint *n, void *state)
{
    CHECK(state == &extra);
    *n = t == MPI_INT ? 6 : 8;
    return MPI_SUCCESS;
}

static int reading(void *mem, MPI_Datatype t, int n, void *file, MPI_Offset position, void *state)
{
    CHECK(t == MPI_INT && state == &extra);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 4; k++)
            ((char *)mem)[4 * (position + i) + k] = ((char *)file)[6 * i + 3 - k];
    reads += n;
    return reads > N ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static int writing(void *mem, MPI_Datatype t, int n, void *file, MPI_Offset position, void *state)
{
    CHECK(t == MPI_INT && state == &extra);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 4; k++)
            ((char *)file)[6 * i + 3 - k] = ((char *)mem)[4 * (position + i) + k];
        ((char *)file)[6 * i + 4] = ((char *)file)[6 * i + 5] = '!';
    }
    return MPI_SUCCESS;
}

static void represented(const char *name)
{
    MPI_File f;
    int out[N], in[N] = {0};
    unsigned char raw[6];
    MPI_Offset bytes;
    for (int i = 0; i < N; i++)
        out[i] = 256 * i + 1;
    OK(MPI_Register_datarep("reversing", reading, writing, extent, &extra));
    CHECK(MPI_Register_datarep("reversing", reading, writing, extent, &extra) == MPI_ERR_DUP_DATAREP);
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f));
    OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "reversing", MPI_INFO_NULL));
    OK(MPI_File_write_at(f, 0, out, N, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_get_size(f, &bytes));
    CHECK(bytes == 6 * N);
    OK(MPI_File_read_at(f, 0, in, N, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(!memcmp(in, out, sizeof in) && reads == N);
    CHECK(MPI_File_read_at(f, 0, in, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS); /* as reading says */
    OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(f, 6, raw, 6, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(!memcmp(raw, "\0\0\1\1!!", 6));
    OK(MPI_File_close(&f));
}

/* external checks views in external32, which has 4 bytes for a long (MPI 4.1, section 14.5.2). */
static void external(const char *name)
{
    enum { LONGS = 5 };
    struct {
        long a;
        int b;
    } one[2] = {{-7, 8}, {9, -10}}, two[2] = {{0, 0}, {0, 0}};
    long out[LONGS] = {1, -2, 70000, -70000, 5}, in[LONGS] = {0}, wide = 1L << 40;
    unsigned char raw[4 * LONGS];
    int n, lengths[2] = {1, 1};
    MPI_File f;
    MPI_Offset bytes;
    MPI_Aint extent, places[2] = {0, 4};
    MPI_Status s;
    MPI_Request r;
    MPI_Datatype pair, kinds[2] = {MPI_LONG, MPI_INT};
    OK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f));
    OK(MPI_File_set_view(f, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
    OK(MPI_File_get_type_extent(f, MPI_LONG, &extent));
    CHECK(extent == 4);
    OK(MPI_File_get_type_extent(f, MPI_LONG_LONG, &extent));
    CHECK(extent == 8);
    OK(MPI_File_write(f, out, LONGS, MPI_LONG, &s));
    OK(MPI_Get_count(&s, MPI_LONG, &n));
    CHECK(n == LONGS);
    OK(MPI_File_get_position(f, &bytes));
    CHECK(bytes == LONGS);
    OK(MPI_File_get_size(f, &bytes));
    CHECK(bytes == 4 * LONGS);
    OK(MPI_File_iread_at(f, 1, in, LONGS, MPI_LONG, &r)); /* to the end of the file */
    OK(MPI_Wait(&r, &s));
    OK(MPI_Get_count(&s, MPI_LONG, &n));
    CHECK(n == LONGS - 1 && !memcmp(in, out + 1, 4 * sizeof(long)) && in[4] == 0);
    OK(MPI_File_read_at_all_begin(f, 0, in, LONGS, MPI_LONG));
    OK(MPI_File_read_at_all_end(f, in, &s));
    OK(MPI_Get_count(&s, MPI_LONG, &n));
    CHECK(n == LONGS && !memcmp(in, out, sizeof in));
    CHECK(MPI_File_write_at(f, 0, &wide, 1, MPI_LONG, &s) == MPI_ERR_CONVERSION);
    OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(f, 0, raw, sizeof raw, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(!memcmp(raw, "\0\0\0\1\377\377\377\376\0\1\21\160", 12));
    /* Displacements of a struct are of the file: the int follows the 4 bytes of the long. */
    OK(MPI_Type_create_struct(2, lengths, places, kinds, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_File_set_view(f, 0, pair, pair, "external32", MPI_INFO_NULL));
    OK(MPI_Type_free(&pair));
    places[1] = (char *)&one[0].b - (char *)&one[0];
    OK(MPI_Type_create_struct(2, lengths, places, kinds, &pair));
    OK(MPI_Type_commit(&pair));
    OK(MPI_File_write_at(f, 0, one, 2, pair, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(f, 0, two, 2, pair, MPI_STATUS_IGNORE));
    CHECK(one[0].a == two[0].a && one[0].b == two[0].b && one[1].a == two[1].a && one[1].b == two[1].b);
    OK(MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    OK(MPI_File_read_at(f, 0, raw, 16, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK(!memcmp(raw, "\377\377\377\371\0\0\0\10\0\0\0\11\377\377\377\366", 16));
    OK(MPI_Type_free(&pair));
    OK(MPI_File_close(&f));
}

/* mended makes errors of files none, as the code that it is given is what the call returns. */
static int errors;

static void mended(MPI_File *f, int *code, ...)
{
    CHECK(*f == MPI_FILE_NULL);
    errors++;
    *code = MPI_SUCCESS;
}

static void handled(void)
{
    MPI_File f;
    MPI_Errhandler h;
    OK(MPI_File_create_errhandler(mended, &h));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, h));
    OK(MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &f));
    CHECK(errors == 1);
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    OK(MPI_Errhandler_free(&h));
}

int main(int argc, char **argv)
{
    char name[256];
    int out[N], in[N], n, mode, all = 0;
    MPI_File f;
    MPI_Status s;
    MPI_Request r;
    MPI_Offset bytes, disp;
    MPI_Datatype every, etype, filetype;
    begin(argc, argv);
    int id = getpid();
    OK(MPI_Bcast(&id, 1, MPI_INT, 0, MPI_COMM_WORLD));
    snprintf(name, sizeof name, "/tmp/fitmpi-cabi-test-%d", id);
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f));
    OK(MPI_File_get_amode(f, &mode));
    CHECK(mode == (MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    /* Ranks take turns, int by int. */
    OK(MPI_Type_create_resized(MPI_INT, 0, size * (int)sizeof(int), &every));
    OK(MPI_Type_commit(&every));
    OK(MPI_File_set_view(f, rank * (MPI_Offset)sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL));
    for (int i = 0; i < N; i++)
        out[i] = 100 * rank + i;
    OK(MPI_File_write_all(f, out, N, MPI_INT, &s));
    OK(MPI_Get_count(&s, MPI_INT, &n));
    CHECK(n == N);
    OK(MPI_File_get_size(f, &bytes));
    OK(MPI_File_sync(f));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_read_at(f, 3, in, 1, MPI_INT, &s));
    CHECK(in[0] == 100 * rank + 3);
    OK(MPI_File_seek(f, 0, MPI_SEEK_SET));
    OK(MPI_File_read_all_begin(f, in, N, MPI_INT));
    OK(MPI_File_read_all_end(f, in, &s));
    CHECK(!memcmp(in, out, sizeof in));
    OK(MPI_File_get_view(f, &disp, &etype, &filetype, name));
    CHECK(disp == rank * (MPI_Offset)sizeof(int) && etype == MPI_INT && !strcmp(name, "native"));
    OK(MPI_Type_free(&filetype));
    OK(MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_iread_at(f, rank, &all, 1, MPI_INT, &r));
    OK(MPI_Wait(&r, &s));
    CHECK(all == 100 * rank);
    OK(MPI_File_get_size(f, &bytes));
    CHECK(bytes == (MPI_Offset)(N * size * sizeof(int)));
    /* Errors of files are returned, unless the program says otherwise. */
    CHECK(MPI_File_seek(f, -1, MPI_SEEK_SET) != MPI_SUCCESS);
    OK(MPI_File_close(&f));
    CHECK(f == MPI_FILE_NULL);
    CHECK(MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &f) == MPI_ERR_NO_SUCH_FILE);
    OK(MPI_Type_free(&every));
    snprintf(name, sizeof name, "/tmp/fitmpi-cabi-test-%d-%d", id, rank);
    represented(name);
    external(name);
    handled();
    return end();
}
