package time

import "sync/atomic"

// Jump is by how many seconds the clock on the wall is wrong. What the monotonic
// clock says is not touched, as it is not by those who set a machine's clock.
var Jump atomic.Int64
