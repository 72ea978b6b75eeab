package mpi

import (
	"maps"
	"slices"
	"strconv"
	"sync"
)

// ErrorCode is a particular error of a user's or a library's own, of some class (MPI 4.1, section
// 9.5). It is an error itself, which functions can return, wrap, or give to CallErrhandler:
// errors.Is finds the code and its class, errors.AsType the code.
//
// Classes and codes are numbers of one kind, as in MPI: each class is a code too.
type ErrorCode int

// userErrors are the classes and codes that were added, of all ranks of this process: they are
// numbers of the process, as package variables are, and may differ between processes.
var userErrors = userErrorTable{
	last: int(ErrLastcode), class: make(map[int]ErrorClass), text: make(map[int]string), counts: make(map[ErrorClass]int),
}

type userErrorTable struct {
	mu     sync.RWMutex
	last   int                // guarded by mu: the last number given; none is given twice
	class  map[int]ErrorClass // guarded by mu: of each code in use; of a class it is the class
	text   map[int]string     // guarded by mu
	counts map[ErrorClass]int // guarded by mu: codes in use, beside the class itself
}

// AddErrorClass makes a new error class, beyond ErrLastcode (MPI 4.1, section 9.5). It is local to
// the process, whose ranks share it.
func AddErrorClass() ErrorClass {
	u := &userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last++
	u.class[u.last] = ErrorClass(u.last)
	return ErrorClass(u.last)
}

// RemoveErrorClass takes back a class of AddErrorClass, whose codes and text must have been removed
// before; else it is an error of class [ErrArg] (MPI 4.1, section 9.5). Its number is not given
// again.
func RemoveErrorClass(class ErrorClass) error {
	const op = "RemoveErrorClass"
	u := &userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.class[int(class)] != class || class <= ErrLastcode:
		return opErrorf(ErrArg, op, "error class %d: need one that AddErrorClass gave", int(class))
	case u.counts[class] > 0:
		return opErrorf(ErrArg, op, "error class %d has %d codes: remove them first", int(class), u.counts[class])
	}
	return u.dropLocked(op, int(class))
}

// AddErrorCode makes a new error code of a class, a predefined or an added one (MPI 4.1, section
// 9.5). Another class is an error of class [ErrArg].
func AddErrorCode(class ErrorClass) (ErrorCode, error) {
	u := &userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.classOfLocked(int(class)) != class || class == Success {
		return 0, opErrorf(ErrArg, "AddErrorCode", "error class %d: need one of MPI's classes, or one that AddErrorClass gave", int(class))
	}
	u.last++
	u.class[u.last] = class
	u.counts[class]++
	return ErrorCode(u.last), nil
}

// RemoveErrorCode takes back a code of AddErrorCode, whose text must have been removed before; else
// it is an error of class [ErrArg] (MPI 4.1, section 9.5). Errors that carry it are of class
// ErrUnknown from now on.
func RemoveErrorCode(code ErrorCode) error {
	const op = "RemoveErrorCode"
	u := &userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	class, ok := u.class[int(code)]
	if !ok || class == ErrorClass(code) {
		return opErrorf(ErrArg, op, "error code %d: need one that AddErrorCode gave", int(code))
	}
	if err := u.dropLocked(op, int(code)); err != nil {
		return err
	}
	u.counts[class]--
	return nil
}

// AddErrorString gives an added class or code its text, in place of an earlier one (MPI 4.1,
// section 9.5). For a predefined class it is an error of class [ErrArg].
func AddErrorString[C ErrorClass | ErrorCode](c C, text string) error {
	u := &userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.class[int(c)]; !ok {
		return opErrorf(ErrArg, "AddErrorString", "error code %d: need one that AddErrorClass or AddErrorCode gave", int(c))
	}
	u.text[int(c)] = text
	return nil
}

// RemoveErrorString takes back the text of AddErrorString; without one it is an error of class
// [ErrArg] (MPI 4.1, section 9.5).
func RemoveErrorString[C ErrorClass | ErrorCode](c C) error {
	u := &userErrors
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, ok := u.text[int(c)]; !ok {
		return opErrorf(ErrArg, "RemoveErrorString", "error code %d has no text of AddErrorString", int(c))
	}
	delete(u.text, int(c))
	return nil
}

// ErrorString is the text of a class or code; "" for an added one that has none (MPI 4.1, sections
// 9.4 and 9.5).
func ErrorString[C ErrorClass | ErrorCode](c C) string {
	if int(c) >= 0 && int(c) < len(errorClassTexts) {
		return errorClassTexts[int(c)]
	}
	u := &userErrors
	u.mu.RLock()
	defer u.mu.RUnlock()
	return u.text[int(c)]
}

// LastUsedCode is the largest error code in use in this process, at least ErrLastcode; not every
// number below it is one (MPI 4.1, section 9.5, MPI_LASTUSEDCODE).
func LastUsedCode() ErrorCode {
	u := &userErrors
	u.mu.RLock()
	defer u.mu.RUnlock()
	last := int(ErrLastcode)
	if len(u.class) > 0 {
		last = slices.Max(slices.Collect(maps.Keys(u.class)))
	}
	return ErrorCode(last)
}

// dropLocked forgets a number, which must have no text.
func (u *userErrorTable) dropLocked(op string, number int) error {
	if text, ok := u.text[number]; ok {
		return opErrorf(ErrArg, op, "error code %d has the text %q: remove it first with RemoveErrorString", number, text)
	}
	delete(u.class, number)
	return nil
}

// classOfLocked is the class of a number: ErrUnknown if it is no code in use.
func (u *userErrorTable) classOfLocked(number int) ErrorClass {
	if number >= 0 && number <= int(ErrLastcode) {
		return ErrorClass(number)
	}
	if class, ok := u.class[number]; ok {
		return class
	}
	return ErrUnknown
}

// Class is the class of the code; ErrUnknown of one that no call has added, or that was removed
// (MPI 4.1, section 9.4, MPI_Error_class).
func (e ErrorCode) Class() ErrorClass {
	userErrors.mu.RLock()
	defer userErrors.mu.RUnlock()
	return userErrors.classOfLocked(int(e))
}

// Error returns the code's text behind the library's name.
func (e ErrorCode) Error() string {
	if text := ErrorString(e); text != "" {
		return "mpi: " + text
	}
	return "mpi: error code " + strconv.Itoa(int(e))
}

// Is reports whether target is the code's class.
func (e ErrorCode) Is(target error) bool {
	c, ok := target.(ErrorClass)
	return ok && c == e.Class()
}
