package reflector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"millrace/wire"
)

// probe asks for one object of the shard. A server that does not know the
// parameter passes over it without a word, and so does one whose feature gate
// ShardedListAndWatch is off; and a watch never says whether it is one shard's.
// A list does: the metadata of one that was selected by shard has a shardInfo.
func (r *Reflector) probe(ctx context.Context, p position) outcome {
	opts := r.options(p)
	opts.ShardSelector, opts.Limit = r.cfg.ShardSelector, 1
	sharded, err := r.ask(ctx, p, opts)
	o := r.outcomeOf(ctx, outcome{sharded: sharded || r.cfg.ShardFiltered && err == nil}, "ask for one shard of", err)
	if o.end == complete || o.end == rejected {
		r.learn(ctx, sharded)
	}
	return o
}

// ask reports whether a list of these options is one shard's.
func (r *Reflector) ask(ctx context.Context, p position, opts metav1.ListOptions) (bool, error) {
	s, err := r.open(ctx, r.requestFrom(p).SetHeader("Accept", typeJSON), opts)
	if err != nil {
		return false, err
	}
	defer s.close()
	meta, err := listMeta(io.LimitReader(s, wire.MaxFrame))
	if err != nil {
		return false, s.explain(err)
	}
	s.drain()
	return meta.ShardInfo != nil, nil
}

// learn makes known what was found out.
func (r *Reflector) learn(ctx context.Context, sharded bool) {
	r.mu.Lock()
	r.status.Sharded = sharded
	r.mu.Unlock()
	r.cfg.Trace.sharded(sharded)
	if !sharded && !r.cfg.ShardFiltered {
		klog.FromContext(ctx).Info("The API server does not select by shard, so all objects are streamed",
			"resource", r.resource, "shardSelector", r.cfg.ShardSelector)
	}
}

// listMeta is the metadata of a list, which stands before the items or behind
// them.
func listMeta(answer io.Reader) (metav1.ListMeta, error) {
	var list struct {
		Metadata *metav1.ListMeta `json:"metadata"`
	}
	if err := json.NewDecoder(answer).Decode(&list); err != nil {
		return metav1.ListMeta{}, fmt.Errorf("read list: %w", err)
	}
	if list.Metadata == nil {
		return metav1.ListMeta{}, errors.New("read list: it has no metadata")
	}
	return *list.Metadata, nil
}
