package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/cabi/internal/procedure"
	"github.com/fitmpi/fitmpi/mpi"
)

// Representations of data that a program defines (MPI 5.0, section 14.5.3).

func init() { register(procedure.RegisterDatarep, registerDatarep) }

// datarepTypes are the datatypes that functions of the program are told, by the kinds of Go: of
// two of one kind, as long and long long, the first.
var datarepTypes = map[*mpi.Datatype]handle{
	mpi.TypeOf[bool](): abi.CBool, mpi.TypeOf[int8](): abi.SignedChar, mpi.TypeOf[int16](): abi.Short, mpi.TypeOf[int32](): abi.Int,
	mpi.TypeOf[int64](): abi.Long, mpi.TypeOf[uint16](): abi.UnsignedShort, mpi.TypeOf[uint32](): abi.Unsigned, mpi.TypeOf[uint64](): abi.UnsignedLong,
	mpi.TypeOf[float32](): abi.Float, mpi.TypeOf[float64](): abi.Double,
	mpi.TypeOf[complex64](): abi.CFloatComplex, mpi.TypeOf[complex128](): abi.CDoubleComplex,
}

func registerDatarep(c *call) error {
	c.on = noFile
	name, read, write, extent, extra := c.text(0), c.args[1], c.args[2], c.need(3), c.args[4]
	of := func(fn int64) mpi.DatarepConversion {
		if fn == abi.ConversionFnNull {
			return nil
		}
		return func(mem []byte, t *mpi.Datatype, n int, file []byte) error {
			// The values lie in Go's memory, which must not move while C has it: it is of the heap.
			return codeError(Callback(FunctionConversion, fn, addressOf(mem), int64(datarepTypes[t]), int64(n), addressOf(file), 0, extra), "conversion")
		}
	}
	size := func(t *mpi.Datatype) (int, error) {
		n := heap(new(int64))
		err := codeError(Callback(FunctionExtent, extent, int64(datarepTypes[t]), address(n), extra), "extent")
		return int(*n), err
	}
	w := theWorld.Load()
	w.self.SetFileErrhandler(mpi.ErrorsReturn[*mpi.File])
	return w.self.RegisterDatarep(name, of(read), of(write), size)
}
