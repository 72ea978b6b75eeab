/* Functions that MPI 3.0 removed, which older programs have, and structs with MPI_LB and MPI_UB. */
#include "dialect.h"

/* Where a struct begins and ends by those, if it has them. */
struct bounds {
    int has_lb, has_ub;
    MPI_Aint lb, ub;
};

/* sift keeps the members that are no bounds, and returns how many there are. */
static int sift(int n, int lengths[], MPI_Aint places[], uintptr_t types[], struct bounds *b)
{
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (types[i] == FIT_LB) {
            b->lb = b->has_lb && b->lb < places[i] ? b->lb : places[i];
            b->has_lb = 1;
        } else if (types[i] == FIT_UB) {
            b->ub = b->has_ub && b->ub > places[i] ? b->ub : places[i];
            b->has_ub = 1;
        } else {
            lengths[kept] = lengths[i], places[kept] = places[i], types[kept] = types[i];
            kept++;
        }
    }
    return kept;
}

/* resize makes a datatype that has the bounds of an old one, which it frees. */
static int resize(uintptr_t old, const struct bounds *b, uintptr_t *new)
{
    MPI_Aint lb = 0, extent = 0;
    int rc = abi_Type_get_extent(old, &lb, &extent);
    MPI_Aint from = b->has_lb ? b->lb : lb, to = b->has_ub ? b->ub : lb + extent;
    if (!rc)
        rc = abi_Type_create_resized(old, from, to - from, new);
    abi_Type_free(&old);
    return rc;
}

static int bounded(int n, const int lengths[], const MPI_Aint places[], uintptr_t types[], uintptr_t *new)
{
    struct bounds b = {0};
    uintptr_t inner = ABI_DATATYPE_NULL;
    int few1[FIT_FEW], *l = fit_room(n, sizeof *l, few1);
    MPI_Aint few2[FIT_FEW], *p = fit_room(n, sizeof *p, few2);
    memcpy(l, lengths, (size_t)n * sizeof *l);
    memcpy(p, places, (size_t)n * sizeof *p);
    n = sift(n, l, p, types, &b);
    int rc = abi_Type_create_struct(n, l, p, types, &inner);
    if (!rc)
        rc = resize(inner, &b, new);
    fit_release(l, few1);
    fit_release(p, few2);
    return rc;
}

static int has_bounds(int n, const uintptr_t *types)
{
    for (int i = 0; types && i < n; i++)
        if (types[i] == FIT_LB || types[i] == FIT_UB)
            return 1;
    return 0;
}

#pragma GCC visibility push(default)

int PMPI_Type_create_struct(int count, const int array_of_blocklengths[], const MPI_Aint array_of_displacements[],
                            const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    uintptr_t few[FIT_FEW], *types = datatypes_in(array_of_types, count, few), h = FIT_NONE;
    int rc = has_bounds(count, types)
                 ? bounded(count, array_of_blocklengths, array_of_displacements, types, &h)
                 : abi_Type_create_struct(count, array_of_blocklengths, array_of_displacements, types, newtype ? &h : NULL);
    if (newtype && h != FIT_NONE)
        *newtype = datatype_out(h);
    fit_release(types, few);
    return error_out(rc);
}
FIT_ALIAS(MPI_Type_create_struct);

int PMPI_Type_struct(int count, int *lengths, MPI_Aint *displacements, MPI_Datatype *types, MPI_Datatype *newtype)
{
    return PMPI_Type_create_struct(count, lengths, displacements, types, newtype);
}
FIT_ALIAS(MPI_Type_struct);

int PMPI_Type_hindexed(int count, int *lengths, MPI_Aint *displacements, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    uintptr_t h = FIT_NONE;
    int rc = abi_Type_create_hindexed(count, lengths, displacements, datatype_in(oldtype), &h);
    if (h != FIT_NONE)
        *newtype = datatype_out(h);
    return error_out(rc);
}
FIT_ALIAS(MPI_Type_hindexed);

int PMPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    uintptr_t h = FIT_NONE;
    int rc = abi_Type_create_hvector(count, blocklength, stride, datatype_in(oldtype), &h);
    if (h != FIT_NONE)
        *newtype = datatype_out(h);
    return error_out(rc);
}
FIT_ALIAS(MPI_Type_hvector);

int PMPI_Address(void *location, MPI_Aint *address) { return error_out(abi_Get_address(location, address)); }
FIT_ALIAS(MPI_Address);

int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return error_out(abi_Type_get_extent(datatype_in(datatype), &lb, extent));
}
FIT_ALIAS(MPI_Type_extent);

int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return error_out(abi_Type_get_extent(datatype_in(datatype), displacement, &extent));
}
FIT_ALIAS(MPI_Type_lb);

int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint lb = 0, extent = 0;
    int rc = abi_Type_get_extent(datatype_in(datatype), &lb, &extent);
    *displacement = lb + extent;
    return error_out(rc);
}
FIT_ALIAS(MPI_Type_ub);

int PMPI_Errhandler_create(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
    uintptr_t h = FIT_NONE;
    int rc = abi_Comm_create_errhandler((const void *)function, &h);
    if (h != FIT_NONE)
        *errhandler = errhandler_out(h);
    return error_out(rc);
}
FIT_ALIAS(MPI_Errhandler_create);

int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler)
{
    return error_out(abi_Comm_set_errhandler(comm_in(comm), errhandler_in(errhandler)));
}
FIT_ALIAS(MPI_Errhandler_set);

int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    uintptr_t h = FIT_NONE;
    int rc = abi_Comm_get_errhandler(comm_in(comm), &h);
    if (h != FIT_NONE)
        *errhandler = errhandler_out(h);
    return error_out(rc);
}
FIT_ALIAS(MPI_Errhandler_get);
