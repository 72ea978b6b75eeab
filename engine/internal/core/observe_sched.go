package core

// ScheduleObserver is an Observer that sees schedules as well, under the same rules: when one
// starts, and when it is done.
type ScheduleObserver interface {
	Schedule(s *Schedule, ended bool)
}

// SeesSchedules reports whether there is one.
func (c *Core) SeesSchedules() bool { return c.scheds != nil }

func (c *Core) observeSched(s *Schedule, ended bool) {
	if c.scheds != nil {
		c.scheds.Schedule(s, ended)
	}
}
