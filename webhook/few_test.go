//go:build !race

package webhook_test

const requestsUnderRotation = 10_000
