/* The tool information interface: control variables, which may be written until MPI_Init and are
 * in force then, performance variables, and categories. */
#include "check.h"

enum { EAGER = 65536, MESSAGES = 10 };

/* control is the number of a control variable. */
static int control(const char *name)
{
    int i;
    OK(MPI_T_cvar_get_index(name, &i));
    return i;
}

/* described checks what some control variables are, by their kinds. */
static void described(void)
{
    char name[64];
    int n, length, scope, verbosity, bind, value;
    MPI_Datatype type;
    MPI_T_enum items;
    length = sizeof name;
    OK(MPI_T_cvar_get_info(control("FITMPI_EAGER_MAX"), name, &length, &verbosity, &type, &items, NULL, NULL, &bind, &scope));
    CHECK(!strcmp(name, "FITMPI_EAGER_MAX") && length == (int)strlen(name) + 1);
    CHECK(type == MPI_UNSIGNED_LONG_LONG && items == MPI_T_ENUM_NULL && bind == MPI_T_BIND_NO_OBJECT);
    CHECK(scope == MPI_T_SCOPE_LOCAL && verbosity == MPI_T_VERBOSITY_TUNER_BASIC);
    length = 4;
    OK(MPI_T_cvar_get_info(control("FITMPI_CHECK"), name, &length, &verbosity, &type, NULL, NULL, NULL, NULL, &scope));
    CHECK(!strcmp(name, "FIT") && length == 4); /* as far as there is room */
    CHECK(type == MPI_INT && scope == MPI_T_SCOPE_ALL_EQ && verbosity == MPI_T_VERBOSITY_USER_BASIC);
    length = 0;
    OK(MPI_T_cvar_get_info(control("FITMPI_CHECK"), NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == (int)sizeof "FITMPI_CHECK");
    OK(MPI_T_cvar_get_info(control("FITMPI_PROGRESS"), NULL, NULL, NULL, &type, &items, NULL, NULL, NULL, NULL));
    OK(MPI_T_enum_get_info(items, &n, NULL, NULL));
    CHECK(type == MPI_INT && n == 3);
    length = sizeof name;
    OK(MPI_T_enum_get_item(items, 1, &value, name, &length));
    CHECK(value == 1 && !strcmp(name, "assist"));
    CHECK(MPI_T_enum_get_item(items, n, &value, name, &length) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_enum_get_info(MPI_T_ENUM_NULL, &n, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_cvar_get_index("eager", &n) == MPI_T_ERR_INVALID_NAME);
    CHECK(MPI_T_cvar_get_index(NULL, &n) == MPI_T_ERR_INVALID);
}

/* readable reads every control variable. */
static void readable(void)
{
    int n, count;
    char room[4096];
    MPI_T_cvar_handle h;
    OK(MPI_T_cvar_get_num(&n));
    CHECK(n > 20);
    for (int i = 0; i < n; i++) {
        OK(MPI_T_cvar_handle_alloc(i, NULL, &h, &count));
        CHECK(count == 1 || (count > 1 && count <= (int)sizeof room));
        OK(MPI_T_cvar_read(h, room));
        OK(MPI_T_cvar_handle_free(&h));
        CHECK(h == MPI_T_CVAR_HANDLE_NULL);
    }
    CHECK(MPI_T_cvar_handle_alloc(n, NULL, &h, &count) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_cvar_handle_free(&h) == MPI_T_ERR_INVALID_HANDLE);
}

/* counted reads a performance variable of whole numbers. */
static unsigned long long counted(MPI_T_pvar_session s, MPI_T_pvar_handle h)
{
    unsigned long long n;
    OK(MPI_T_pvar_read(s, h, &n));
    return n;
}

static void performance(void)
{
    int n, i, count, class, readonly, continuous, atomic, x = 0;
    unsigned long long before;
    double seconds = -1;
    char room[64];
    MPI_Datatype type;
    MPI_T_pvar_session s, other;
    MPI_T_pvar_handle h;
    OK(MPI_T_pvar_get_num(&n));
    CHECK(n > 30);
    OK(MPI_T_pvar_session_create(&s));
    OK(MPI_T_pvar_session_create(&other));
    CHECK(MPI_T_pvar_get_index("fitmpi_sent_messages_total", MPI_T_PVAR_CLASS_LEVEL, &i) == MPI_T_ERR_INVALID_NAME);
    OK(MPI_T_pvar_get_index("fitmpi_sent_messages_total", MPI_T_PVAR_CLASS_COUNTER, &i));
    OK(MPI_T_pvar_get_info(i, NULL, NULL, NULL, &class, &type, NULL, NULL, NULL, NULL, &readonly, &continuous, &atomic));
    CHECK(class == MPI_T_PVAR_CLASS_COUNTER && type == MPI_UNSIGNED_LONG_LONG && readonly && continuous && !atomic);
    OK(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count));
    CHECK(count == 1);
    before = counted(s, h);
    for (int k = 0; k < MESSAGES; k++)
        OK(MPI_Sendrecv(&k, 1, MPI_INT, rank, 0, &x, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(counted(s, h) == before + MESSAGES);
    CHECK(MPI_T_pvar_read(other, h, room) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_start(s, h) == MPI_T_ERR_PVAR_NO_STARTSTOP && MPI_T_pvar_stop(s, h) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_reset(s, h) == MPI_T_ERR_PVAR_NO_WRITE && MPI_T_pvar_write(s, h, &before) == MPI_T_ERR_PVAR_NO_WRITE);
    OK(MPI_T_pvar_start(s, MPI_T_PVAR_ALL_HANDLES));
    OK(MPI_T_pvar_reset(s, MPI_T_PVAR_ALL_HANDLES));
    CHECK(MPI_T_pvar_read(s, MPI_T_PVAR_ALL_HANDLES, room) == MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_handle_free(s, &h));
    CHECK(h == MPI_T_PVAR_HANDLE_NULL && MPI_T_pvar_handle_free(s, &h) == MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_pvar_get_index("fitmpi_wait_seconds_total", MPI_T_PVAR_CLASS_TIMER, &i));
    OK(MPI_T_pvar_handle_alloc(s, i, NULL, &h, &count));
    OK(MPI_T_pvar_read(s, h, &seconds));
    CHECK(seconds >= 0);
    for (i = 0; i < n; i++) {
        OK(MPI_T_pvar_handle_alloc(other, i, NULL, &h, &count));
        OK(MPI_T_pvar_read(other, h, room));
    }
    OK(MPI_T_pvar_session_free(&other));
    OK(MPI_T_pvar_session_free(&s));
    CHECK(s == MPI_T_PVAR_SESSION_NULL && MPI_T_pvar_session_free(&s) == MPI_T_ERR_INVALID_SESSION);
}

/* grouped checks that each variable is in one category. */
static void grouped(void)
{
    int n, cvars, pvars, all_cvars = 0, all_pvars = 0, found[2], i;
    OK(MPI_T_category_get_num(&n));
    for (int k = 0; k < n; k++) {
        char name[64], text[256];
        int length = sizeof name, long_length = sizeof text, below;
        OK(MPI_T_category_get_info(k, name, &length, text, &long_length, &cvars, &pvars, &below));
        OK(MPI_T_category_get_index(name, &i));
        CHECK(i == k && below == 0 && cvars + pvars > 0);
        all_cvars += cvars;
        all_pvars += pvars;
        found[0] = found[1] = -1;
        OK(MPI_T_category_get_cvars(k, 1, found));
        CHECK((found[0] >= 0) == (cvars > 0) && found[1] == -1);
    }
    OK(MPI_T_cvar_get_num(&cvars));
    OK(MPI_T_pvar_get_num(&pvars));
    CHECK(all_cvars == cvars && all_pvars == pvars);
    CHECK(MPI_T_category_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_category_get_index("messages", &i));
}

int main(int argc, char **argv)
{
    int n = -1, provided, count;
    unsigned long long size_of = EAGER, got = 0;
    MPI_T_cvar_handle h;
    CHECK(MPI_T_cvar_get_num(&n) == MPI_T_ERR_NOT_INITIALIZED);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    described();
    readable();
    OK(MPI_T_cvar_handle_alloc(control("FITMPI_EAGER_MAX"), NULL, &h, &count));
    OK(MPI_T_cvar_write(h, &size_of));
    OK(MPI_T_cvar_write(h, &size_of));
    CHECK(MPI_T_cvar_write(h, &got) == MPI_T_ERR_INVALID); /* 0 bytes */
    OK(MPI_T_cvar_read(h, &got));
    CHECK(got == EAGER);
    begin(argc, argv);
    got = 0;
    OK(MPI_T_cvar_read(h, &got)); /* what is in force */
    CHECK(got == EAGER && MPI_T_cvar_write(h, &got) == MPI_T_ERR_CVAR_SET_NOT_NOW);
    described();
    readable();
    performance();
    grouped();
    n = end();
    got = 0;
    OK(MPI_T_cvar_read(h, &got)); /* after MPI_Finalize too */
    CHECK(got == EAGER);
    OK(MPI_T_finalize());
    CHECK(MPI_T_cvar_get_num(&provided) == MPI_T_ERR_NOT_INITIALIZED);
    return n;
}
