// Command gohalf is the Go half of the C library, built with -buildmode=c-shared: the two functions
// by which the C half enters Go, and those by which Go calls the program back.
package main

/*
#include <stdint.h>

typedef int (*fit_function)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t);
typedef int fit_foreign_function(int, int64_t, const int64_t *);

extern fit_foreign_function *fit_foreign;

// A word is passed as an int is, in a register or place of its own, and so is a pointer.
static int fit_callback(int what, int64_t f, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                        int64_t g)
{
    int64_t args[] = {a, b, c, d, e, g};
    if (fit_foreign)
        return fit_foreign(what, f, args);
    return ((fit_function)(intptr_t)f)(a, b, c, d, e, g);
}

void fit_native(int kind, int op, int64_t acc, int64_t in, int64_t n);

struct fit_attach {
    void *shared;
    fit_foreign_function *foreign;
};
*/
import "C"

import (
	"unsafe"

	"github.com/fitmpi/fitmpi/cabi/internal/calls"
)

func main() {}

//export fitmpi_attach
func fitmpi_attach(with *C.struct_fit_attach) {
	calls.Callback = callback
	calls.UseNative(native)
	C.fit_foreign = with.foreign
	calls.Attach(with.shared)
}

//export fitmpi_call
func fitmpi_call(id C.int, args *C.int64_t) C.int {
	return C.int(calls.Call(int(id), unsafe.Pointer(args)))
}

// callback calls a function of the program. No lock is held, and it may call MPI.
func callback(what calls.Function, fn int64, args ...int64) int32 {
	var a [6]int64
	copy(a[:], args)
	return int32(C.fit_callback(C.int(what), C.int64_t(fn), C.int64_t(a[0]), C.int64_t(a[1]), C.int64_t(a[2]), C.int64_t(a[3]), C.int64_t(a[4]), C.int64_t(a[5])))
}

func native(kind, op int, acc, in int64, n int) {
	C.fit_native(C.int(kind), C.int(op), C.int64_t(acc), C.int64_t(in), C.int64_t(n))
}
