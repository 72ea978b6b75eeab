/* What only the binary interface has, integers for handles, and datatypes of Fortran by digits. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Info info;
    MPI_Datatype a, b;
    int major, minor, flag, n, na, nd, combiner, yes = 1, no = 0, got[2];
    char value[8];
    begin(argc, argv);
    OK(MPI_Abi_get_version(&major, &minor));
    CHECK(major == 1 && minor == 0);
    OK(MPI_Abi_get_info(&info));
    n = sizeof value;
    OK(MPI_Info_get_string(info, "mpi_aint_size", &n, value, &flag));
    CHECK(flag && !strcmp(value, "8"));
    OK(MPI_Info_free(&info));
    OK(MPI_Abi_get_fortran_booleans(4, &got[0], &got[1], &flag));
    CHECK(!flag);
    OK(MPI_Abi_set_fortran_booleans(4, &yes, &no));
    OK(MPI_Abi_get_fortran_booleans(4, &got[0], &got[1], &flag));
    CHECK(flag && got[0] == 1 && got[1] == 0);
    CHECK(MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    OK(MPI_Type_create_f90_real(15, 300, &a));
    OK(MPI_Type_create_f90_real(15, 300, &b));
    OK(MPI_Type_size(a, &n));
    CHECK(a == b && n == 8);
    OK(MPI_Type_get_envelope(a, &n, &na, &nd, &combiner));
    CHECK(n == 2 && na == 0 && nd == 0 && combiner == MPI_COMBINER_F90_REAL);
    double x = 1, sum;
    OK(MPI_Allreduce(&x, &sum, 1, a, MPI_SUM, MPI_COMM_WORLD));
    CHECK(sum == size);
    return end();
}
