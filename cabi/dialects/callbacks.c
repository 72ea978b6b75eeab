/* Functions of the program, which Go calls with what the standard ABI has: they get what they were
 * compiled for. */
#include "dialect.h"
#include "proxies.h"
#include "../chalf/what.h"

#define FUNCTION(type) ((type *)(intptr_t)function)
#define ADDRESS(type, i) ((type *)(intptr_t)a[i])

static int operate(int64_t function, const int64_t *a)
{
    MPI_Datatype t = datatype_out(*ADDRESS(uintptr_t, 3));
    FUNCTION(MPI_User_function)(ADDRESS(void, 0), ADDRESS(void, 1), ADDRESS(int, 2), &t);
    return 0;
}

static int operate_large(int64_t function, const int64_t *a)
{
    MPI_Datatype t = datatype_out(*ADDRESS(uintptr_t, 3));
    FUNCTION(MPI_User_function_c)(ADDRESS(void, 0), ADDRESS(void, 1), ADDRESS(MPI_Count, 2), &t);
    return 0;
}

/* Attributes: copy has the object, the key, its state, the value, and two places; delete the
 * object, the key, the value, and the state. */
#define ATTRIBUTE(kind, type, prefix)                                                             \
    static int copy_##kind(int64_t function, const int64_t *a)                                    \
    {                                                                                             \
        type h = kind##_out((uintptr_t)a[0]);                                                     \
        int key = keyval_out((int)a[1]), rc;                                                      \
        if (!fit_proxy_copy(&rc, function, (intptr_t)h, (int)a[1], a))                            \
            rc = FUNCTION(prefix##_copy_attr_function)(h, key, ADDRESS(void, 2), ADDRESS(void, 3), \
                                                       ADDRESS(void, 4), ADDRESS(int, 5));        \
        return fit_error_in(rc);                                                                  \
    }                                                                                             \
    static int delete_##kind(int64_t function, const int64_t *a)                                  \
    {                                                                                             \
        type h = kind##_out((uintptr_t)a[0]);                                                     \
        int key = keyval_out((int)a[1]), rc;                                                      \
        if (!fit_proxy_delete(&rc, function, (intptr_t)h, (int)a[1], a))                          \
            rc = FUNCTION(prefix##_delete_attr_function)(h, key, ADDRESS(void, 2), ADDRESS(void, 3)); \
        return fit_error_in(rc);                                                                  \
    }
ATTRIBUTE(comm, MPI_Comm, MPI_Comm)
ATTRIBUTE(datatype, MPI_Datatype, MPI_Type)
ATTRIBUTE(win, MPI_Win, MPI_Win)

/* Error handlers may have more arguments: here they have two. */
#define HANDLER(kind, type, prefix)                                         \
    static int handle_##kind(int64_t function, const int64_t *a)            \
    {                                                                       \
        type h = kind##_out(*ADDRESS(uintptr_t, 0));                        \
        int code = fit_error_out(*ADDRESS(int, 1));                         \
        FUNCTION(prefix##_errhandler_function)(&h, &code);                  \
        *ADDRESS(int, 1) = fit_error_in(code); /* it may have changed it */ \
        return 0;                                                           \
    }
HANDLER(comm, MPI_Comm, MPI_Comm)
HANDLER(win, MPI_Win, MPI_Win)
HANDLER(file, MPI_File, MPI_File)
#ifdef FIT_SESSIONS
HANDLER(session, MPI_Session, MPI_Session)
#else
#define handle_session handle_comm
#endif

/* Representations of data. Counts are words in registers of their own, so the large twin of a
 * conversion, which has a wide one, is called alike. */
static int extent(int64_t function, const int64_t *a)
{
    MPI_Datatype t = datatype_out((uintptr_t)a[0]);
    return fit_error_in(FUNCTION(MPI_Datarep_extent_function)(t, ADDRESS(MPI_Aint, 1), ADDRESS(void, 2)));
}

static int convert(int64_t function, const int64_t *a)
{
    MPI_Datatype t = datatype_out((uintptr_t)a[1]);
    return fit_error_in(FUNCTION(MPI_Datarep_conversion_function_c)(ADDRESS(void, 0), t, a[2], ADDRESS(void, 3), a[4],
                                                                    ADDRESS(void, 5)));
}

typedef int caller(int64_t function, const int64_t *args);

/* By what a function is. Those of generalised requests are in grequest.c, and called as such. */
static caller *const callers[] = {
    [FIT_OP] = operate, [FIT_OP_LARGE] = operate_large,
    [FIT_COMM_COPY] = copy_comm, [FIT_COMM_DELETE] = delete_comm,
    [FIT_TYPE_COPY] = copy_datatype, [FIT_TYPE_DELETE] = delete_datatype,
    [FIT_WIN_COPY] = copy_win, [FIT_WIN_DELETE] = delete_win,
    [FIT_COMM_ERROR] = handle_comm, [FIT_WIN_ERROR] = handle_win,
    [FIT_FILE_ERROR] = handle_file, [FIT_SESSION_ERROR] = handle_session,
    [FIT_EXTENT] = extent, [FIT_CONVERSION] = convert,
};

int fit_foreign(int what, int64_t function, const int64_t *a)
{
    if (callers[what])
        return callers[what](function, a);
    return ((int (*)(int64_t, int64_t))(intptr_t)function)(a[0], a[1]);
}
