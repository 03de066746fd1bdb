package main

import (
	"context"
	"fmt"
	"time"
)

// often is how often something is asked how far it is. What that costs the controller
// is a hundredth of a core.
const often = 100 * time.Millisecond

// poll waits until done says so, or fails, or ctx ends.
func poll(ctx context.Context, what string, done func() (bool, error)) error {
	for {
		if yes, err := done(); yes || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-time.After(often):
		}
	}
}
