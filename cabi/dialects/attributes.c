/* Attributes of the library, whose values are numbers of the interface. */
#include "dialect.h"

/* convert makes the value at an address what the other interface has. The memory that it points to
 * is this library's: all ranks of a process have the same values. */
static void convert(int key, void *value)
{
    static int rank, host, code, flavor, model;
    int **p = value;
    switch (key) {
    case ABI_IO: rank = rank_out(**p), *p = &rank; break;
    case ABI_HOST: host = rank_out(**p), *p = &host; break;
    case ABI_LASTUSEDCODE: code = fit_error_out(**p), *p = &code; break;
    case ABI_WIN_CREATE_FLAVOR: flavor = flavor_out(**p), *p = &flavor; break;
    case ABI_WIN_MODEL: model = model_out(**p), *p = &model; break;
    }
}

int fit_get_attr(int what, uintptr_t h, int key, void *value, int *flag)
{
    int rc = what == 'w' ? abi_Win_get_attr(h, key, value, flag)
           : what == 't' ? abi_Type_get_attr(h, key, value, flag) : abi_Comm_get_attr(h, key, value, flag);
    if (!rc && *flag)
        convert(key, value);
    return error_out(rc);
}

#pragma GCC visibility push(default)

int PMPI_Comm_get_attr(MPI_Comm comm, int comm_keyval, void *attribute_val, int *flag)
{
    return fit_get_attr('c', comm_in(comm), keyval_in(comm_keyval), attribute_val, flag);
}
FIT_ALIAS(MPI_Comm_get_attr);

int PMPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return fit_get_attr('c', comm_in(comm), keyval_in(keyval), attribute_val, flag);
}
FIT_ALIAS(MPI_Attr_get);

int PMPI_Win_get_attr(MPI_Win win, int win_keyval, void *attribute_val, int *flag)
{
    return fit_get_attr('w', win_in(win), keyval_in(win_keyval), attribute_val, flag);
}
FIT_ALIAS(MPI_Win_get_attr);
