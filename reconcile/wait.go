package reconcile

import "time"

// Pause is how long to wait before what was refused for now is tried again: as long
// again as has been waited already, between one second and half a minute. What has
// lasted a minute need not be tried each second.
func Pause(waited time.Duration) time.Duration {
	return min(max(waited.Round(time.Second), time.Second), 30*time.Second)
}

// Soonest is the shorter of two waits, of which 0 means never.
func Soonest(a, b time.Duration) time.Duration {
	if a == 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
