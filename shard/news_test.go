package shard

import (
	"context"
	"strings"
	"testing"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// logged is what was logged.
type logged struct{ strings.Builder }

// in is a context whose log that is.
func (l *logged) in(t *testing.T) context.Context {
	t.Helper()
	return klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(l))))
}

func (l *logged) count(text string) int { return strings.Count(l.String(), text) }

func TestWhatWasSaidLastIsNoNews(t *testing.T) {
	var n news
	for i, step := range []struct {
		text string
		want bool
	}{{"", false}, {"a", true}, {"a", false}, {"b", true}, {"a", true}, {"", false}, {"a", true}} {
		if got := n.is(step.text); got != step.want {
			t.Errorf("step %d, %q: %v", i, step.text, got)
		}
	}
}
