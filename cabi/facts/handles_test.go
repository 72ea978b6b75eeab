package facts

import (
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// handleGroups returns the constants of handles, by type.
func handleGroups(t *testing.T) map[string][]*Constant {
	t.Helper()
	byType := map[string][]*Constant{}
	for _, g := range load(t).Groups {
		if g.Form == FormHandle {
			byType[g.C] = append(byType[g.C], g.Constants...)
		}
	}
	return byType
}

// Section 20.3: "the integers 1 to 4095 for predefined handle constants"; section 20.5: they use
// the lower 10 bits. No two handles of whatever type have one value, but for second names.
func TestHandleValues(t *testing.T) {
	seen := map[int]string{}
	for _, constants := range handleGroups(t) {
		for _, c := range constants {
			if c.Value < 1 || c.Value >= 1<<10 {
				t.Errorf("%s is %#x, which does not fit in 10 bits", c.Name, c.Value)
			}
			if c.Same != "" {
				continue
			}
			if seen[c.Value] != "" {
				t.Errorf("%s and %s are both %#x", seen[c.Value], c.Name, c.Value)
			}
			seen[c.Value] = c.Name
		}
	}
}

// The type follows from a prefix of the bits: the ranges are aligned powers of two that do not
// overlap, and the first value of each is the null handle.
func TestHandleRanges(t *testing.T) {
	table, groups := load(t), handleGroups(t)
	taken := map[int]string{}
	for _, h := range table.Handles {
		if h.First == 0 {
			continue
		}
		n := h.Last - h.First + 1
		if bits.OnesCount(uint(n)) != 1 || h.First%n != 0 {
			t.Errorf("%s: %#x to %#x is no prefix", h.Name, h.First, h.Last)
		}
		for v := h.First; v <= h.Last; v++ {
			if taken[v] != "" {
				t.Errorf("%s and %s share %#x", taken[v], h.Name, v)
			}
			taken[v] = h.Name
		}
		constants := groups[h.Name]
		if len(constants) == 0 || constants[0].Value != h.First || !strings.HasSuffix(constants[0].Name, "_NULL") {
			t.Errorf("%s: the null handle is not the first of the range", h.Name)
		}
	}
}

// digits is the size in the name of a datatype: of bits for MPI_INT8_T, of bytes for MPI_REAL8.
var digits = regexp.MustCompile(`^MPI_U?(INT|LOGICAL|INTEGER|REAL|COMPLEX)(\d+)(_T)?$`)

// Section 20.5: "Fixed-sized types allow the implementation to determine the size of the datatype
// from the predefined handle value itself". Bit 6 says that the size is fixed, bits 5 to 3 are its
// logarithm.
func TestFixedSizes(t *testing.T) {
	bytes := map[string]int{"MPI_CHAR": 1, "MPI_SIGNED_CHAR": 1, "MPI_UNSIGNED_CHAR": 1, "MPI_BYTE": 1}
	fixed := 0
	for _, c := range handleGroups(t)["MPI_Datatype"] {
		want := bytes[c.Name]
		if m := digits.FindStringSubmatch(c.Name); m != nil {
			want, _ = strconv.Atoi(m[2])
			if m[3] != "" {
				want /= 8
			}
		}
		size := 0
		if c.Value&(1<<6) != 0 {
			size = 1 << (c.Value >> 3 & 7)
			fixed++
		}
		if size != want {
			t.Errorf("%s is %#x: size %d, want %d", c.Name, c.Value, size, want)
		}
	}
	if fixed != 30 {
		t.Errorf("%d datatypes of fixed size, want 30", fixed)
	}
}

// Values that programs have compiled in, of each type.
func TestConstants(t *testing.T) {
	table := load(t)
	for name, want := range map[string]int{
		"MPI_OP_NULL": 0x20, "MPI_SUM": 0x21, "MPI_NO_OP": 0x3d,
		"MPI_COMM_NULL": 0x100, "MPI_COMM_WORLD": 0x101, "MPI_COMM_SELF": 0x102,
		"MPI_GROUP_EMPTY": 0x109, "MPI_MESSAGE_NO_PROC": 0x129, "MPI_INFO_ENV": 0x131,
		"MPI_ERRORS_ARE_FATAL": 0x141, "MPI_ERRORS_ABORT": 0x142, "MPI_ERRORS_RETURN": 0x143,
		"MPI_REQUEST_NULL": 0x180, "MPI_DATATYPE_NULL": 0x200, "MPI_INT": 0x209, "MPI_DOUBLE": 0x214,
		"MPI_LONG_LONG_INT": 0x20b, "MPI_BYTE": 0x247, "MPI_2INT": 0x22b, "MPI_COMPLEX32": 0x2eb,
		"MPI_ANY_SOURCE": -1, "MPI_ANY_TAG": -2, "MPI_PROC_NULL": -3, "MPI_ROOT": -4, "MPI_UNDEFINED": -32766,
		"MPI_IN_PLACE": 1, "MPI_UNWEIGHTED": 10, "MPI_WEIGHTS_EMPTY": 11, "MPI_THREAD_MULTIPLE": 4096,
		"MPI_ERR_LASTCODE": 16383, "MPI_T_ERR_PVAR_NO_ATOMIC": 1018, "MPI_MAX_ERROR_STRING": 512,
	} {
		if c := table.Constant(name); c == nil || c.Value != want {
			t.Errorf("%s is %+v, want %#x", name, c, want)
		}
	}
}
