/* Functions of attributes that Fortran has set: MPICH's library for Fortran says by what they are
 * called. */
#define FIT_SESSIONS

/* Each reports whether the key has a function of Fortran, which then was called. Arguments are
 * those of the standard ABI. */
int fit_proxy_copy(int *rc, int64_t function, intptr_t handle, int key, const int64_t *a);
int fit_proxy_delete(int *rc, int64_t function, intptr_t handle, int key, const int64_t *a);
