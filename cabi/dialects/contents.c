/* How a datatype was made: among the numbers are constants of the interface. */
#include "dialect.h"

/* convert converts the n integers of a combiner. Those of a subarray end with the order; those of
 * a distributed array have the distributions and their arguments behind the size, the rank, the
 * number of dimensions and, unless they are large, the sizes. */
static void convert(int combiner, int *list, long n)
{
    if (combiner != ABI_COMBINER_SUBARRAY && combiner != ABI_COMBINER_DARRAY)
        return;
    list[n - 1] = order_out(list[n - 1]);
    if (combiner == ABI_COMBINER_DARRAY) {
        long dims = list[2], at = n == 4 * dims + 4 ? 3 + dims : 3;
        fit_each(list + at, dims, distribution_out);
        fit_each(list + at + dims, dims, distribution_argument_out);
    }
}

/* types converts the datatypes that were written. */
static void types(MPI_Datatype *to, const uintptr_t *from, long n)
{
    for (long i = 0; from && i < n; i++)
        if (from[i] != FIT_NONE)
            to[i] = datatype_out(from[i]);
}

/* room is room for n handles, none of which is written yet. */
static uintptr_t *room(long n, uintptr_t *few)
{
    uintptr_t *list = fit_room(n, sizeof *list, few);
    for (long i = 0; i < n; i++)
        list[i] = FIT_NONE;
    return list;
}

#pragma GCC visibility push(default)

int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                           int array_of_integers[], MPI_Aint array_of_addresses[], MPI_Datatype array_of_datatypes[])
{
    uintptr_t h = datatype_in(datatype), few[FIT_FEW], *list = room(max_datatypes, few);
    int ints = 0, other = 0, combiner = 0;
    int rc = abi_Type_get_contents(h, max_integers, max_addresses, max_datatypes, array_of_integers, array_of_addresses, list);
    if (!rc)
        rc = abi_Type_get_envelope(h, &ints, &other, &other, &combiner);
    if (!rc) {
        convert(combiner, array_of_integers, ints);
        types(array_of_datatypes, list, max_datatypes);
    }
    fit_release(list, few);
    return error_out(rc);
}
FIT_ALIAS(MPI_Type_get_contents);

int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers, MPI_Count max_addresses, MPI_Count max_large_counts,
                             MPI_Count max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[],
                             MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[])
{
    uintptr_t h = datatype_in(datatype), few[FIT_FEW], *list = room((long)max_datatypes, few);
    MPI_Count ints = 0, other = 0;
    int combiner = 0;
    int rc = abi_Type_get_contents_c(h, max_integers, max_addresses, max_large_counts, max_datatypes, array_of_integers,
                                     array_of_addresses, array_of_large_counts, list);
    if (!rc)
        rc = abi_Type_get_envelope_c(h, &ints, &other, &other, &other, &combiner);
    if (!rc) {
        convert(combiner, array_of_integers, (long)ints);
        types(array_of_datatypes, list, (long)max_datatypes);
    }
    fit_release(list, few);
    return error_out(rc);
}
FIT_ALIAS(MPI_Type_get_contents_c);
