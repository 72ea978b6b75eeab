/* What MPICH's library for Fortran, libmpichfort.so.12, asks of the one for C beside the functions
 * of the standard. */
#include "dialect.h"
#include "../grequest.h"
#include "boxes.h"
#include "proxies.h"

#include <pthread.h>

int fit_get_attr(int what, uintptr_t h, int key, void *value, int *flag);

/* What a value is: an address as in C, or a number of one of two sizes. */
enum { PTR = 0, AINT = 1, INT = 3 };

typedef int copy_proxy(void *function, int handle, int key, void *extra, int type, void *value, void **copy, int *flag);
typedef int delete_proxy(void *function, int handle, int key, int type, void *value, void *extra);

/* The keys of Fortran, by number: keys of programs begin at FIRST. */
enum { FIRST = 1001 };
static struct proxy {
    copy_proxy *copy;
    delete_proxy *delete;
} *proxies;
static int count;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

FIT_PUBLIC void MPII_Keyval_set_proxy(int keyval, copy_proxy *copy, delete_proxy *delete)
{
    int i = keyval - FIRST;
    if (i < 0)
        return;
    pthread_mutex_lock(&mu);
    if (i >= count) {
        int room = i + 64;
        struct proxy *more = realloc(proxies, (size_t)room * sizeof *more);
        if (!more)
            abort();
        memset(more + count, 0, (size_t)(room - count) * sizeof *more);
        proxies = more, count = room;
    }
    proxies[i] = (struct proxy){copy, delete};
    pthread_mutex_unlock(&mu);
}

static struct proxy proxy_of(int key)
{
    struct proxy p = {0};
    pthread_mutex_lock(&mu);
    if (key >= FIRST && key - FIRST < count)
        p = proxies[key - FIRST];
    pthread_mutex_unlock(&mu);
    return p;
}

int fit_proxy_copy(int *rc, int64_t function, intptr_t handle, int key, const int64_t *a)
{
    struct proxy p = proxy_of(key);
    if (!p.copy)
        return 0;
    void *copied = NULL, *value = (void *)fit_unbox((void *)(intptr_t)a[3]);
    int *flag = (int *)(intptr_t)a[5];
    *rc = p.copy((void *)(intptr_t)function, (int)handle, key, (void *)(intptr_t)a[2], AINT, value, &copied, flag);
    *(void **)(intptr_t)a[4] = fit_box((intptr_t)copied);
    return 1;
}

int fit_proxy_delete(int *rc, int64_t function, intptr_t handle, int key, const int64_t *a)
{
    struct proxy p = proxy_of(key);
    if (!p.delete)
        return 0;
    void *value = (void *)fit_unbox((void *)(intptr_t)a[2]);
    *rc = p.delete((void *)(intptr_t)function, (int)handle, key, AINT, value, (void *)(intptr_t)a[3]);
    return 1;
}

/* own is the number in C of a key of the library: in Fortran it is greater by one. */
static int own(int keyval)
{
    return (keyval & 0x7f800000) == 0x64000000 || (keyval & 0x7f800000) == 0x66000000 ? (keyval - 1) | 1 : keyval;
}

/* get returns the number itself of what C would get the address of. */
static int get(int what, uintptr_t h, int keyval, void *value, int *flag, int type)
{
    int key = keyval_in(own(keyval));
    int rc = fit_get_attr(what, h, key, value, flag);
    if (rc || !*flag || type == PTR || key == ABI_WIN_BASE)
        return rc;
    if (key >= FIRST)
        *(intptr_t *)value = fit_unbox(*(void **)value);
    else if (key == ABI_WIN_SIZE)
        *(intptr_t *)value = **(MPI_Aint **)value;
    else
        *(intptr_t *)value = **(int **)value;
    return rc;
}

/* kept is a value as it is kept. */
static void *kept(void *value, int type) { return type == PTR ? value : fit_box((intptr_t)value); }

#pragma GCC visibility push(default)

int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag, int type)
{
    return get('c', comm_in(comm), keyval, value, flag, type);
}

int MPII_Type_get_attr(MPI_Datatype datatype, int keyval, void *value, int *flag, int type)
{
    return get('t', datatype_in(datatype), keyval, value, flag, type);
}

int MPII_Win_get_attr(MPI_Win win, int keyval, void *value, int *flag, int type)
{
    return get('w', win_in(win), keyval, value, flag, type);
}

int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void *value, int type)
{
    return error_out(abi_Comm_set_attr(comm_in(comm), keyval_in(own(keyval)), kept(value, type)));
}

int MPII_Type_set_attr(MPI_Datatype datatype, int keyval, void *value, int type)
{
    return error_out(abi_Type_set_attr(datatype_in(datatype), keyval_in(keyval), kept(value, type)));
}

int MPII_Win_set_attr(MPI_Win win, int keyval, void *value, int type)
{
    return error_out(abi_Win_set_attr(win_in(win), keyval_in(own(keyval)), kept(value, type)));
}

/* It is called by the thread that has begun the request, before that begins another. */
void MPII_Grequest_set_lang_f77(MPI_Request request)
{
    (void)request;
    if (fit_latest_grequest)
        fit_latest_grequest->is_fortran = 1;
}
