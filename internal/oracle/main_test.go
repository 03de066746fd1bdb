//go:debug randseednop=0

package oracle

import (
	"context"
	"flag"
	"io"
	"os"
	"testing"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestMain takes away the error handler that paces itself by the clock of the
// process's start: a bubble begins in the year 2000, and the handler's first
// call would sleep until today. And it keeps client-go's log, which goes on about
// the troubles that it is given, out of the tests' output.
func TestMain(m *testing.M) {
	utilruntime.ErrorHandlers = utilruntime.ErrorHandlers[:1] //nolint:reassign // It is exported to be.
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(io.Discard)
	// The same operations in every run, unless flags say otherwise.
	_ = flag.Set("rapid.checks", "5000")
	_ = flag.Set("rapid.seed", "1")
	_ = flag.Set("rapid.nofailfile", "true")
	os.Exit(m.Run())
}

// quietly is a context without a log.
func quietly(t *testing.T) context.Context {
	t.Helper()
	return klog.NewContext(t.Context(), klog.Logger{})
}
