/* Values of attributes that Fortran has set. Fortran caches numbers, C addresses: where C asks for
 * what Fortran has set it gets the address of the number (MPI 4.0, section 19.3.7). So a number is
 * kept as the address of one that is equal and stays for ever. */
#ifndef FITMPI_BOXES_H
#define FITMPI_BOXES_H

#include <stdint.h>

/* fit_box returns the address of a number. Equal ones have one. */
void *fit_box(intptr_t value);

/* fit_unbox is what Fortran sees of a value: the number, or the address that C has set. */
intptr_t fit_unbox(const void *value);

#endif
