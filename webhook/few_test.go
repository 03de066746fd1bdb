//go:build !race

package webhook_test

import "time"

const pauseUnderRotation = 20 * time.Millisecond
