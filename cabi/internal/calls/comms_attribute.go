package calls

import (
	"github.com/fitmpi/fitmpi/cabi/internal/abi"
	"github.com/fitmpi/fitmpi/mpi"
)

// attributeCells are the values of predefined attributes, whose addresses C gets.
var attributeCells [8]int32

// predefinedAttribute is the address of an attribute of the library's own.
func predefinedAttribute(n int) (addr int64, ok bool) {
	w := theWorld.Load()
	if w == nil {
		return 0, false
	}
	cells := &attributeCells
	switch n {
	case abi.TagUb:
		cells[0] = mpi.TagUB
	case abi.Host:
		cells[1] = abi.ProcNull
	case abi.Io:
		cells[2] = abi.AnySource
	case abi.WtimeIsGlobal:
		cells[3] = 0
	case abi.UniverseSize:
		size, ok := w.world.UniverseSize()
		if !ok {
			return 0, false
		}
		cells[4] = int32(size)
	case abi.Appnum:
		num, ok := w.world.AppNum()
		if !ok {
			return 0, false
		}
		cells[5] = int32(num)
	case abi.Lastusedcode:
		cells[6] = int32(codeOfAdded(int(mpi.LastUsedCode())))
	default:
		return 0, false
	}
	return address(&cells[cellOf[n]]), true
}

// cellOf is where the value of an attribute is.
var cellOf = map[int]int{abi.TagUb: 0, abi.Host: 1, abi.Io: 2, abi.WtimeIsGlobal: 3, abi.UniverseSize: 4, abi.Appnum: 5, abi.Lastusedcode: 6}
