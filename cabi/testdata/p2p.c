/* Point-to-point: modes, nonblocking, persistent, probes, requests. */
#include "check.h"

enum { N = 70000 };
static int out[N], in[N];

static void fill(int v)
{
    for (int i = 0; i < N; i++) {
        out[i] = v + i;
        in[i] = -1;
    }
}

/* ring passes count ints to the right, by nonblocking calls. */
static void ring(int count, int right, int left)
{
    MPI_Request r[2];
    MPI_Status s[2];
    int n;
    fill(rank * 1000);
    OK(MPI_Irecv(in, N, MPI_INT, left, 5, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Isend(out, count, MPI_INT, right, 5, MPI_COMM_WORLD, &r[1]));
    OK(MPI_Waitall(2, r, s));
    CHECK(r[0] == MPI_REQUEST_NULL && r[1] == MPI_REQUEST_NULL);
    CHECK(s[0].MPI_SOURCE == left && s[0].MPI_TAG == 5);
    OK(MPI_Get_count(&s[0], MPI_INT, &n));
    CHECK(n == count);
    for (int i = 0; i < count; i++)
        CHECK(in[i] == left * 1000 + i);
}

/* modes sends in each mode, to the right. */
static void modes(int right, int left)
{
    static char room[1 << 16];
    MPI_Request r;
    MPI_Status s;
    void *p;
    int n;
    OK(MPI_Buffer_attach(room, sizeof room));
    fill(rank);
    OK(MPI_Irecv(in, 4, MPI_INT, left, 1, MPI_COMM_WORLD, &r));
    OK(MPI_Ssend(out, 4, MPI_INT, right, 1, MPI_COMM_WORLD));
    OK(MPI_Wait(&r, &s));
    CHECK(in[3] == left + 3);
    OK(MPI_Bsend(out, 3, MPI_INT, right, 2, MPI_COMM_WORLD));
    OK(MPI_Recv(in, 3, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(in[2] == left + 2);
    OK(MPI_Buffer_detach(&p, &n));
    CHECK(p == room && n == sizeof room);
    OK(MPI_Sendrecv(out, 2, MPI_INT, right, 3, in, 2, MPI_INT, left, 3, MPI_COMM_WORLD, &s));
    CHECK(in[1] == left + 1);
    OK(MPI_Sendrecv_replace(out, 2, MPI_INT, right, 3, left, 3, MPI_COMM_WORLD, &s));
    CHECK(out[1] == left + 1);
    OK(MPI_Recv(in, 3, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &s));
    CHECK(s.MPI_SOURCE == MPI_PROC_NULL && s.MPI_TAG == MPI_ANY_TAG);
}

/* persistent runs persistent requests three times. */
static void persistent(int right, int left)
{
    MPI_Request r[2];
    MPI_Status s[2];
    int done[2], n, index, flag;
    OK(MPI_Send_init(out, 10, MPI_INT, right, 7, MPI_COMM_WORLD, &r[0]));
    OK(MPI_Recv_init(in, 10, MPI_INT, left, 7, MPI_COMM_WORLD, &r[1]));
    for (int round = 0; round < 3; round++) {
        fill(100 * round + rank);
        OK(MPI_Startall(2, r));
        for (int left_over = 2; left_over > 0; left_over -= n)
            OK(MPI_Waitsome(2, r, &n, done, s));
        CHECK(in[9] == 100 * round + left + 9 && r[0] != MPI_REQUEST_NULL);
        OK(MPI_Testany(2, r, &index, &flag, s));
        CHECK(flag && index == MPI_UNDEFINED);
    }
    OK(MPI_Request_free(&r[0]));
    OK(MPI_Request_free(&r[1]));
    CHECK(r[0] == MPI_REQUEST_NULL);
}

/* probes asks what comes before it receives. */
static void probes(int right, int left)
{
    MPI_Status s;
    MPI_Message m;
    MPI_Request r;
    int n, flag;
    fill(rank);
    OK(MPI_Isend(out, 6, MPI_INT, right, 8, MPI_COMM_WORLD, &r));
    OK(MPI_Probe(left, MPI_ANY_TAG, MPI_COMM_WORLD, &s));
    OK(MPI_Get_count(&s, MPI_INT, &n));
    CHECK(n == 6 && s.MPI_TAG == 8);
    OK(MPI_Mprobe(left, 8, MPI_COMM_WORLD, &m, &s));
    OK(MPI_Mrecv(in, 6, MPI_INT, &m, &s));
    CHECK(m == MPI_MESSAGE_NULL && in[5] == left + 5);
    OK(MPI_Iprobe(left, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    CHECK(!flag);
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_Irecv(in, 1, MPI_INT, left, 99, MPI_COMM_WORLD, &r));
    OK(MPI_Cancel(&r));
    OK(MPI_Wait(&r, &s));
    OK(MPI_Test_cancelled(&s, &flag));
    CHECK(flag);
}

/* truncated receives more than there is room for. */
static void truncated(int right, int left)
{
    MPI_Request r;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Isend(out, 6, MPI_INT, right, 8, MPI_COMM_WORLD, &r));
    CHECK(MPI_Recv(in, 5, MPI_INT, left, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_ERR_TRUNCATE);
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

/* generalised completes a request of the program's own. */
static int freed;
static int query(void *extra, MPI_Status *s)
{
    s->MPI_SOURCE = *(int *)extra;
    s->MPI_TAG = 4;
    MPI_Status_set_elements(s, MPI_INT, 2);
    MPI_Status_set_cancelled(s, 0);
    return MPI_SUCCESS;
}
static int let(void *extra) { (void)extra; freed++; return MPI_SUCCESS; }
static int withdraw(void *extra, int complete) { (void)extra; (void)complete; return MPI_SUCCESS; }

static void generalised(void)
{
    MPI_Request r;
    MPI_Status s;
    int flag, n, extra = 17;
    OK(MPI_Grequest_start(query, let, withdraw, &extra, &r));
    OK(MPI_Test(&r, &flag, &s));
    CHECK(!flag);
    OK(MPI_Grequest_complete(r));
    OK(MPI_Wait(&r, &s));
    OK(MPI_Get_count(&s, MPI_INT, &n));
    CHECK(n == 2 && s.MPI_SOURCE == 17 && freed == 1);
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    ring(1, right, left);
    ring(100, right, left);
    ring(N, right, left);
    modes(right, left);
    persistent(right, left);
    probes(right, left);
    truncated(right, left);
    generalised();
    return end();
}
