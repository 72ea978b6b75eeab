package wire

import "strconv"

// A Code says why bytes are no header. ConsumeHeader returns it in place of a length; it is not an
// error, so that it cannot leak out to users.
type Code int

// The codes are negative, so that none is a length. When several apply the first of this list is
// reported.
const (
	CodeBadVersion  Code = -1 - iota // another version of the protocol
	CodeUnknownKind                  // a kind this version does not have
	CodeBadFlags                     // a flag that the kind does not have
	CodeBadElem                      // an element class where none belongs
	CodeBadTag                       // a negative tag, or one where none belongs
	CodeBadContext                   // a context where none belongs, or an offset beyond MaxLength
	CodeBadLength                    // a length where none belongs
	CodeTooLong                      // a length beyond MaxLength, or what the kind may have
	CodeZeroLength                   // a frame that moves nothing though moving is its purpose
	CodeBadID                        // an id where none belongs
)

var codeNames = [...]string{
	"bad version", "unknown kind", "bad flags", "bad element class", "bad tag", "bad context", "bad length", "too long", "zero length", "bad id",
}

func (c Code) String() string {
	if i := -1 - int(c); i >= 0 && i < len(codeNames) {
		return codeNames[i]
	}
	return "wire.Code(" + strconv.Itoa(int(c)) + ")"
}

// malformed finds the reason for which ConsumeHeader refused the words w.
func malformed(w [4]uint64) Code {
	k := Kind(w[0] >> 8)
	switch {
	case uint8(w[0]) != Version:
		return CodeBadVersion
	case k < 1 || k > maxKind:
		return CodeUnknownKind
	}
	s := shapeOf(k, Flags(w[0]>>16)&FlagSync != 0)
	first := (w[0] ^ s.fixed) & s.zero[0]
	switch {
	case first&flagBits != 0:
		return CodeBadFlags
	case first&elemBits != 0:
		return CodeBadElem
	case first&tagBits != 0:
		return CodeBadTag
	case w[1]&s.zero[1] != 0:
		return CodeBadContext
	case w[2]&s.zero[2] != 0:
		return CodeBadLength
	case w[2] > s.minLength+s.span:
		return CodeTooLong
	case w[2] < s.minLength:
		return CodeZeroLength
	case w[3]&s.zero[3] != 0:
		return CodeBadID
	}
	panic("wire: a header was refused without a reason")
}
