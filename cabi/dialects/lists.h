/* Arrays that are converted: short ones on the stack of the caller. */
#ifndef FITMPI_LISTS_H
#define FITMPI_LISTS_H

enum { FIT_FEW = 16 };

/* fit_room returns room for n entries: few, if they fit. */
void *fit_room(long n, size_t size, void *few);

#define fit_release(list, few)       \
    do {                             \
        if ((list) && (list) != (few)) \
            free(list);              \
    } while (0)

/* An array that is a null pointer stays one: the library says what is wrong. */
#define FIT_HANDLES(kind, type)                                                            \
    static inline uintptr_t *kind##s_in(const type *from, long n, uintptr_t *few)          \
    {                                                                                      \
        uintptr_t *to = from ? fit_room(n, sizeof *to, few) : NULL;                        \
        for (long i = 0; to && i < n; i++)                                                 \
            to[i] = kind##_in(from[i]);                                                    \
        return to;                                                                         \
    }                                                                                      \
    static inline void kind##s_out(type *to, const uintptr_t *from, long n)                \
    {                                                                                      \
        for (long i = 0; from && i < n; i++)                                               \
            to[i] = kind##_out(from[i]);                                                   \
    }
FIT_HANDLES(request, MPI_Request)
FIT_HANDLES(datatype, MPI_Datatype)
FIT_HANDLES(info, MPI_Info)

static inline struct fit_status *status_in(const MPI_Status *from, struct fit_status *room)
{
    if (FIT_IGNORES(from))
        return NULL;
    status_read(room, from);
    return room;
}

static inline void status_out(MPI_Status *to, const struct fit_status *from)
{
    if (from)
        status_write(to, from);
}

static inline struct fit_status *statuses_in(const MPI_Status *from, long n, struct fit_status *few)
{
    struct fit_status *to = FIT_IGNORES(from) ? NULL : fit_room(n, sizeof *to, few);
    for (long i = 0; to && i < n; i++)
        status_read(&to[i], &from[i]);
    return to;
}

static inline void statuses_out(MPI_Status *to, const struct fit_status *from, long n)
{
    for (long i = 0; from && i < n; i++)
        status_write(&to[i], &from[i]);
}

static inline int *fit_ints(const int *from, long n, int *few, int (*convert)(int))
{
    int *to = from ? fit_room(n, sizeof *to, few) : NULL;
    for (long i = 0; to && i < n; i++)
        to[i] = convert(from[i]);
    return to;
}

static inline void fit_each(int *list, long n, int (*convert)(int))
{
    for (long i = 0; list && i < n; i++)
        list[i] = convert(list[i]);
}

#endif
