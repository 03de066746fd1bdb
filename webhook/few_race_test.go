//go:build race

package webhook_test

// Under the race detector a handshake takes many times as long.
const requestsUnderRotation = 1_000
