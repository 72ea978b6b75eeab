/* Communicators, groups, names, attributes, info, intercommunicators. */
#include "check.h"

static int copied, deleted;

static int copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag)
{
    (void)c;
    (void)key;
    CHECK(extra == &copied);
    copied++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm c, int key, void *value, void *extra)
{
    (void)c;
    (void)key;
    (void)value;
    (void)extra;
    deleted++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    MPI_Comm dup;
    int key, flag;
    void *v;
    OK(MPI_Comm_create_keyval(copy, drop, &key, &copied));
    OK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, (void *)10));
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
    OK(MPI_Comm_get_attr(dup, key, &v, &flag));
    CHECK(flag && v == (void *)11 && copied == 1);
    OK(MPI_Comm_free(&dup));
    CHECK(dup == MPI_COMM_NULL && deleted == 1);
    OK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key));
    OK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &v, &flag));
    CHECK(!flag && deleted == 2);
    OK(MPI_Comm_free_keyval(&key));
    CHECK(key == MPI_KEYVAL_INVALID);
}

static void groups(void)
{
    MPI_Group world, odd, rest, both;
    MPI_Comm c;
    int how, n, list[1] = {0}, r;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
    int range[1][3] = {{0, size - 1, 2}};
    OK(MPI_Group_range_incl(world, 1, range, &odd));
    OK(MPI_Group_difference(world, odd, &rest));
    OK(MPI_Group_union(odd, rest, &both));
    OK(MPI_Group_compare(world, both, &how));
    CHECK(how == (size > 2 ? MPI_SIMILAR : MPI_IDENT));
    OK(MPI_Group_size(odd, &n));
    CHECK(n == (size + 1) / 2);
    OK(MPI_Group_translate_ranks(odd, 1, list, world, &r));
    CHECK(r == 0);
    OK(MPI_Group_rank(rest, &r));
    CHECK(rank % 2 ? r == rank / 2 : r == MPI_UNDEFINED);
    OK(MPI_Comm_create(MPI_COMM_WORLD, odd, &c));
    CHECK((c == MPI_COMM_NULL) == rank % 2);
    if (c != MPI_COMM_NULL)
        OK(MPI_Comm_free(&c));
    OK(MPI_Group_free(&world));
    OK(MPI_Group_free(&odd));
    OK(MPI_Group_free(&rest));
    OK(MPI_Group_free(&both));
}

static void splits(void)
{
    MPI_Comm half, node, dup;
    MPI_Request r;
    int n, how;
    char name[MPI_MAX_OBJECT_NAME];
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    OK(MPI_Comm_rank(half, &n));
    OK(MPI_Comm_set_name(half, "half"));
    OK(MPI_Comm_get_name(half, name, &n));
    CHECK(!strcmp(name, "half"));
    OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &n));
    CHECK(!strcmp(name, "MPI_COMM_WORLD"));
    OK(MPI_Comm_compare(half, MPI_COMM_WORLD, &how));
    CHECK(size == 1 ? how == MPI_CONGRUENT : how == MPI_UNEQUAL);
    OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node));
    OK(MPI_Comm_idup(half, &dup, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Barrier(dup));
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_free(&node));
    OK(MPI_Comm_free(&half));
}

static void between(void)
{
    MPI_Comm half, inter, merged;
    int flag, n, in = rank, out = -1;
    if (size < 2)
        return;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 12, &inter));
    OK(MPI_Comm_test_inter(inter, &flag));
    OK(MPI_Comm_remote_size(inter, &n));
    CHECK(flag && n == (rank % 2 ? (size + 1) / 2 : size / 2));
    OK(MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_MIN, inter));
    CHECK(out == 1 - rank % 2);
    OK(MPI_Intercomm_merge(inter, rank % 2, &merged));
    OK(MPI_Comm_size(merged, &n));
    CHECK(n == size);
    OK(MPI_Comm_free(&merged));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
}

static void infos(void)
{
    MPI_Info i, j;
    char value[32];
    int n = sizeof value, flag;
    OK(MPI_Info_create(&i));
    OK(MPI_Info_set(i, "key", "a value"));
    OK(MPI_Info_dup(i, &j));
    OK(MPI_Info_get_string(j, "key", &n, value, &flag));
    CHECK(flag && n == 8 && !strcmp(value, "a value"));
    OK(MPI_Info_get_nkeys(j, &n));
    CHECK(n == 1);
    OK(MPI_Info_free(&i));
    OK(MPI_Info_free(&j));
    CHECK(i == MPI_INFO_NULL);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    attributes();
    groups();
    splits();
    between();
    infos();
    return end();
}
