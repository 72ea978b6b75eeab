package sys

import "time"

var clockBase = time.Now()

// Nanotime is the monotonic clock in nanoseconds since some moment of this process's start. It
// makes no system call and stands still while the machine is suspended.
func Nanotime() int64 { return int64(time.Since(clockBase)) }
