//go:build race

package webhook_test

import "time"

// Under the race detector a handshake takes many times as long.
const pauseUnderRotation = 100 * time.Millisecond
