/* Completion of arrays of requests: some that were done as they began, some that are not, null ones
 * and persistent ones side by side. What is not done is asked for again and again. */
#include "check.h"

static int right, left, in[4], out = 7;

/* give makes a message come to the right, once all have found none. */
static void give(int tag)
{
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_Send(&out, 1, MPI_INT, right, tag, MPI_COMM_WORLD));
}

/* begun are a null request, a receive and a short send, which is done. */
static void begun(MPI_Request r[3], int tag)
{
    in[0] = 0;
    r[0] = MPI_REQUEST_NULL;
    OK(MPI_Irecv(in, 1, MPI_INT, left, tag, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Isend(&out, 1, MPI_INT, right, 90, MPI_COMM_WORLD, &r[2]));
    OK(MPI_Recv(&in[1], 1, MPI_INT, left, 90, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

static int is_empty(const MPI_Status *s)
{
    int n;
    OK(MPI_Get_count(s, MPI_INT, &n));
    return s->MPI_SOURCE == MPI_ANY_SOURCE && s->MPI_TAG == MPI_ANY_TAG && n == 0;
}

static int is_received(const MPI_Status *s, int tag) { return s->MPI_SOURCE == left && s->MPI_TAG == tag && in[0] == out; }

static void any(void)
{
    MPI_Request r[3];
    MPI_Status s;
    int index, flag;
    begun(r, 1);
    OK(MPI_Testany(3, r, &index, &flag, &s));
    CHECK(flag && index == 2 && is_empty(&s) && r[2] == MPI_REQUEST_NULL);
    for (int i = 0; i < 1000; i++) {
        OK(MPI_Testany(3, r, &index, &flag, &s));
        CHECK(!flag && index == MPI_UNDEFINED && r[1] != MPI_REQUEST_NULL);
    }
    give(1);
    do
        OK(MPI_Testany(3, r, &index, &flag, &s));
    while (!flag);
    CHECK(index == 1 && is_received(&s, 1) && r[1] == MPI_REQUEST_NULL);
    OK(MPI_Testany(3, r, &index, &flag, &s));
    CHECK(flag && index == MPI_UNDEFINED && is_empty(&s));
    begun(r, 2);
    OK(MPI_Waitany(3, r, &index, &s));
    CHECK(index == 2 && is_empty(&s) && r[2] == MPI_REQUEST_NULL);
    give(2);
    OK(MPI_Waitany(3, r, &index, &s));
    CHECK(index == 1 && is_received(&s, 2));
    OK(MPI_Waitany(3, r, &index, &s));
    CHECK(index == MPI_UNDEFINED && is_empty(&s));
}

static void all(void)
{
    MPI_Request r[3];
    MPI_Status s[3];
    int flag;
    begun(r, 3);
    for (int i = 0; i < 1000; i++) {
        OK(MPI_Testall(3, r, &flag, s));
        CHECK(!flag && r[1] != MPI_REQUEST_NULL && r[2] != MPI_REQUEST_NULL); /* all or none */
    }
    give(3);
    do
        OK(MPI_Testall(3, r, &flag, s));
    while (!flag);
    CHECK(is_empty(&s[0]) && is_received(&s[1], 3) && is_empty(&s[2]));
    CHECK(r[1] == MPI_REQUEST_NULL && r[2] == MPI_REQUEST_NULL);
    for (int ignored = 0; ignored < 2; ignored++) { /* done ones and a null one */
        begun(r, 4);
        give(4);
        OK(MPI_Wait(&r[1], &s[1]));
        CHECK(is_received(&s[1], 4));
        memset(s, 1, sizeof s);
        OK(ignored ? MPI_Waitall(3, r, MPI_STATUSES_IGNORE) : MPI_Testall(3, r, &flag, s));
        CHECK(ignored || (flag && is_empty(&s[0]) && is_empty(&s[1]) && is_empty(&s[2])));
        CHECK(r[2] == MPI_REQUEST_NULL);
    }
}

static void some(void)
{
    MPI_Request r[3];
    MPI_Status s[3];
    int n, indices[3];
    begun(r, 5);
    OK(MPI_Testsome(3, r, &n, indices, s));
    CHECK(n == 1 && indices[0] == 2 && is_empty(&s[0]));
    for (int i = 0; i < 1000; i++) {
        OK(MPI_Testsome(3, r, &n, indices, s));
        CHECK(n == 0 && r[1] != MPI_REQUEST_NULL);
    }
    give(5);
    do
        OK(MPI_Testsome(3, r, &n, indices, s));
    while (!n);
    CHECK(n == 1 && indices[0] == 1 && is_received(&s[0], 5));
    OK(MPI_Testsome(3, r, &n, indices, s));
    CHECK(n == MPI_UNDEFINED);
}

/* asked asks for the status of requests, which stay. */
static void asked(void)
{
    MPI_Request r[3], twin;
    MPI_Status s;
    int flag;
    begun(r, 6);
    OK(MPI_Isend(&out, 1, MPI_INT, right, 91, MPI_COMM_WORLD, &twin));
    OK(MPI_Request_get_status(r[2], &flag, &s));
    CHECK(flag && is_empty(&s));
    OK(MPI_Cancel(&r[2]));
    OK(MPI_Request_free(&r[2]));
    CHECK(r[2] == MPI_REQUEST_NULL);
    OK(MPI_Wait(&twin, &s)); /* what is done in one does not touch the other */
    CHECK(is_empty(&s) && twin == MPI_REQUEST_NULL);
    OK(MPI_Recv(&in[1], 1, MPI_INT, left, 91, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < 1000; i++) {
        OK(MPI_Request_get_status(r[1], &flag, &s));
        CHECK(!flag);
    }
    give(6);
    do
        OK(MPI_Request_get_status(r[1], &flag, &s));
    while (!flag);
    CHECK(is_received(&s, 6) && r[1] != MPI_REQUEST_NULL);
    OK(MPI_Wait(&r[1], &s));
    CHECK(is_received(&s, 6));
}

/* inactive has persistent requests in an array. */
static void inactive(void)
{
    MPI_Request r[2];
    MPI_Status s;
    int index, flag;
    OK(MPI_Recv_init(in, 1, MPI_INT, left, 7, MPI_COMM_WORLD, &r[0]));
    r[1] = MPI_REQUEST_NULL;
    OK(MPI_Testany(2, r, &index, &flag, &s));
    CHECK(flag && index == MPI_UNDEFINED && is_empty(&s));
    OK(MPI_Start(&r[0]));
    OK(MPI_Testany(2, r, &index, &flag, &s));
    CHECK(!flag && index == MPI_UNDEFINED);
    give(7);
    do
        OK(MPI_Testany(2, r, &index, &flag, &s));
    while (!flag);
    CHECK(index == 0 && is_received(&s, 7) && r[0] != MPI_REQUEST_NULL);
    OK(MPI_Request_free(&r[0]));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    any();
    all();
    some();
    asked();
    inactive();
    return end();
}
