//go:build !linux || fitmpi_portable

package sys

import "time"

// ThreadDelay is not known.
type ThreadDelay struct{}

// NewThreadDelay fails.
func NewThreadDelay() (*ThreadDelay, error) { return nil, errNeedsLinux }

// Total fails.
func (*ThreadDelay) Total() (time.Duration, error) { return 0, errNeedsLinux }

// Close does nothing.
func (*ThreadDelay) Close() error { return nil }
