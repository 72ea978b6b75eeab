package main

import "time"

// wakeMonitor bounds how long a thread that computes in C holds up a stop of the world, and with it
// the worker. A fault of Go 1.26 and 1.27 lets a stop overlook a thread that returns to C just as
// it begins. The runtime's monitor would help, but sleeps during a stop, until a timer of the
// process is due: so there is always one (docs/decisions/0079).
func wakeMonitor() { time.AfterFunc(monitorEvery, wakeMonitor) }

const monitorEvery = 50 * time.Millisecond
