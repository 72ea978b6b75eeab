/* Functions of attributes are all of C. */
static inline int fit_proxy_copy(int *rc, int64_t function, intptr_t handle, int key, const int64_t *a)
{
    (void)rc, (void)function, (void)handle, (void)key, (void)a;
    return 0;
}

static inline int fit_proxy_delete(int *rc, int64_t function, intptr_t handle, int key, const int64_t *a)
{
    (void)rc, (void)function, (void)handle, (void)key, (void)a;
    return 0;
}
