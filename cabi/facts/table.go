package facts

// Table is all that the files say. Slices are in the order of the files.
type Table struct {
	Chapters  []*Chapter
	Kinds     []*Kind
	Callbacks []*Procedure
	Aliases   []Alias
	Integers  []Integer
	Structs   []*Struct
	Handles   []*Handle
	Groups    []*Group
	Values    []*Values

	// Names are the procedures of the ABI's header, of which the table must have each and no other.
	Names []string
}

// Chapter is a chapter of the standard.
type Chapter struct {
	Number     int
	Title      string
	Procedures []*Procedure
}

// Procedure is a function of MPI, or the type of a function that MPI calls.
type Procedure struct {
	Name       string
	Since      string // a version of MPI; "" for a callback
	Deprecated string // the version that deprecated it, or ""
	Large      string // the version that brought the twin with _c, or ""
	Result     *Kind  // nil: it returns nothing
	Anytime    bool   // callable before MPI is initialized and after it is finalized
	Starts     bool   // initializes MPI
	Arguments  []*Argument

	result string // name of the kind, until it is resolved
	at     position
}

// Argument is an argument of a procedure. The documentation of the package explains the fields.
type Argument struct {
	Direction Direction
	Name      string
	Kind      *Kind
	Length    string     // "" for what is no array
	Extent    string     // of a buffer, "" if nothing says it
	Function  *Procedure // the type of a callback, nil for what is none
	Sentinels []string
	Root      bool
	Kept      bool
	LargeOnly bool
	Plain     bool
	ByRef     bool

	kind, function string // names, until they are resolved
	at             position
}

// Direction says which way an argument's value goes.
type Direction string

// The directions.
const (
	In    Direction = "in"
	Out   Direction = "out"
	InOut Direction = "inout"
)

// Class says how C passes the arguments of a kind.
type Class string

// The classes.
const (
	ClassHandle   Class = "handle"
	ClassInteger  Class = "integer"
	ClassReal     Class = "real"
	ClassStatus   Class = "status"
	ClassBuffer   Class = "buffer"
	ClassString   Class = "string"
	ClassWord     Class = "word"
	ClassStrings  Class = "strings"
	ClassFunction Class = "function"
	ClassVarargs  Class = "varargs"
)

// Kind is what an argument means.
type Kind struct {
	Name  string
	Class Class
	C     string // its type in C
	Large string // its type in twins for large counts, where that is another, or ""
}

// Alias is a second name of a callback's type.
type Alias struct {
	Name, Of string
}

// Integer is a name for a type of <stdint.h>.
type Integer struct {
	Name, C string
}

// Struct is a type whose layout is fixed.
type Struct struct {
	Name   string
	Fields []Field
}

// Field is a field of a Struct.
type Field struct {
	C, Name string
	Length  int // 0: no array
}

// Handle is a type of handles. First and Last are the values for predefined ones, First is null;
// both are 0 for handles that have no such values.
type Handle struct {
	Name, Tag   string
	First, Last int
}

// Form is how a group of constants is defined.
type Form string

// The forms.
const (
	FormEnum   Form = "enum"
	FormMacro  Form = "macro"
	FormHandle Form = "handle"
	FormCast   Form = "cast"
)

// Group is constants of one type that belong together.
type Group struct {
	Form      Form
	C         string
	Title     string
	Constants []*Constant

	at position
}

// Constant is a named value.
type Constant struct {
	Name       string
	Value      int
	Text       string // the value as the table has it
	Same       string // the constant that this is another name of, or ""
	Deprecated string

	at position
}

// Values are constants that stand for something in arguments of a kind, or of what has that name.
type Values struct {
	Name      string
	Bits      bool // any number of them together
	Constants []string

	at position
}
