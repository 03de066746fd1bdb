package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/validation"
	"millrace/handler"
	"millrace/indexer"
	"millrace/internal/metrics"
	"millrace/internal/settings"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/shard"
	"millrace/transform"
	"millrace/webhook"
	"millrace/webhook/certificate"
	"millrace/wire"
	"millrace/workqueue"
)

// Names that the manifests have, too.
const (
	webhookSecret        = "millrace-webhook-certs" //nolint:gosec // a name
	webhookConfiguration = "millrace-webhook"       // of both kinds
	webhookKey           = "certificate"            // the one key of the queue
)

// convertedCRDs are those whose older version the webhook converts.
func convertedCRDs() []string {
	names := []string{crds.ResourcePipelineRuns, crds.ResourcePipelines, crds.ResourceTaskRuns, crds.ResourceTasks}
	for i, resource := range names {
		names[i] = resource + "." + crds.Group
	}
	return names
}

// A hook is the webhook of this replica: its server, and a chain, a queue and a pool of
// one worker that keep its certificate. Every replica has one, whoever leads:
//
//	the Secret, each webhook configuration, each CRD ──▶ queue: "certificate" ──▶ Keeper ──▶ Secret, caBundles
//
// The zero hook is one that is off.
type hook struct {
	chains   []chain
	pool     *reconcile.Pool
	queue    handler.Queue
	keeper   *certificate.Keeper
	listener net.Listener
	cfg      webhook.Config
}

// newHook wires it, and opens its port.
func newHook(ctx context.Context, cfg config, api *clients, registry *metrics.Registry, on machine, from func(resource, kind string, format wire.Format) reflector.Config) (h hook, err error) {
	if cfg.webhookBind == "" {
		return hook{}, nil
	}
	queue := newQueue(registry, "certificate")
	h.queue = queue
	h.cfg = webhook.Config{Options: func() validation.Options { return admissionOptions(cfg, api.settings.Now()) }, Trace: registry.Webhook()}

	// Of each of them one is followed, by its name: a CRD without its schemas, which are
	// most of it, and the Secret without what is secret.
	named := func(client rest.Interface, namespace, resource, name, kind string, cut transform.Func) chain {
		asked := from(resource, kind, wire.JSON)
		asked.Namespace, asked.FieldSelector = namespace, "metadata.name="+name
		c := newChain(client, resource, shard.Range{}, cut, registry.Chain(resource+"/"+name), asked)
		h.chains = append(h.chains, c)
		return c
	}
	cut := transform.Default()
	named(api.core, cfg.namespace, "secrets", webhookSecret, "Secret", transform.Chain(cut, transform.Cut(wire.Path{"data"})))
	mutating := named(api.registration, "", certificate.ResourceMutating, webhookConfiguration, "MutatingWebhookConfiguration", cut)
	validating := named(api.registration, "", certificate.ResourceValidating, webhookConfiguration, "ValidatingWebhookConfiguration", cut)
	definitions := map[string]chain{}
	for _, name := range convertedCRDs() {
		definitions[name] = named(api.extensions, "", certificate.ResourceCRDs, name, "CustomResourceDefinition",
			transform.Chain(cut, transform.Cut(wire.Path{"spec", "versions"}, wire.Path{"status"})))
	}

	h.keeper = certificate.New(
		certificate.Config{DNSName: cfg.webhookService + "." + cfg.namespace + ".svc", SecretName: webhookSecret},
		api.coreV1.Secrets(cfg.namespace),
		certificate.Published{
			Service:       types.NamespacedName{Namespace: cfg.namespace, Name: cfg.webhookService},
			Configuration: webhookConfiguration,
			CRDs:          convertedCRDs(),
			Mutating:      indexer.Read[admissionv1.MutatingWebhookConfiguration](mutating.Indexer).Get,
			Validating:    indexer.Read[admissionv1.ValidatingWebhookConfiguration](validating.Indexer).Get,
			CRD: func(key types.NamespacedName) (certificate.CustomResourceDefinition, bool, error) {
				return indexer.Read[certificate.CustomResourceDefinition](definitions[key.Name].Indexer).Get(key)
			},
			Registration: api.registration,
			Extensions:   api.extensions,
		})
	registry.Certificate(h.keeper.Expires)
	var sources []reconcile.Source
	for _, c := range h.chains {
		sources = append(sources, c.needed())
	}
	h.pool = reconcile.NewPool("certificate", queue, h.reconcile, reconcile.PoolConfig{
		Workers: 1, // which is what the Keeper wants
		Trace:   registry.Pool("certificate", 1),
		Sources: sources,
	})
	if h.listener, err = on.listen(ctx, "tcp", cfg.webhookBind); err != nil {
		return hook{}, fmt.Errorf("--webhook-bind-address=%s: %w", cfg.webhookBind, err)
	}
	return h, nil
}

// reconcile is the Keeper's, as a pool calls it. That another replica was faster is no
// failure.
func (h hook) reconcile(ctx context.Context, _ types.NamespacedName) (reconcile.Result, error) {
	after, err := h.keeper.Reconcile(ctx)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{Requeue: true}, nil
	}
	return reconcile.Result{RequeueAfter: after}, err
}

// run starts all of it.
func (h hook) run(ctx context.Context, parts *errgroup.Group) {
	if h.listener == nil {
		return
	}
	// It is looked at once even if there is nothing to be followed yet.
	h.queue.AddUrgent(types.NamespacedName{Name: webhookKey}, workqueue.Cause{Source: "webhook", Event: "start"})
	for _, c := range h.chains {
		key := func(indexer.Change) []types.NamespacedName { return []types.NamespacedName{{Name: webhookKey}} }
		c.handlers = []func(indexer.Change){handler.EnqueueMapped(c.Name(), h.queue, key)}
		c.run(ctx, parts)
	}
	parts.Go(func() error { return h.pool.Run(ctx) })
	parts.Go(func() error {
		return webhook.Serve(ctx, h.listener, webhook.NewHandler(h.cfg), h.keeper.Certificate, h.cfg.Trace)
	})
}

// ready tells why the webhook cannot be asked yet.
func (h hook) ready() error {
	if h.listener == nil {
		return nil
	}
	for _, c := range h.chains {
		if !synced(c) {
			return fmt.Errorf("the webhook waits for the first list of %s: %w", c.Name(), cmp.Or(c.source.LastError(), errNotAsked))
		}
	}
	return h.keeper.Ready()
}

var errNotAsked = errors.New("nobody has answered yet")

// admissionOptions are the settings of the moment, as admission goes by them.
func admissionOptions(cfg config, v *settings.Values) validation.Options {
	return validation.Options{
		Alpha:        v.APIFields == settings.Alpha,
		ParamEnum:    v.ParamEnum,
		CEL:          v.CEL,
		MaxMatrix:    v.MaxMatrix,
		ForbiddenEnv: v.ForbiddenEnv,
		Resolver:     cfg.mayResolve,
		Defaults: defaulting.Defaults{
			Timeout:        v.DefaultTimeout,
			ServiceAccount: v.DefaultServiceAccount,
			ManagedBy:      v.ManagedByLabel,
			PodTemplate:    v.PodTemplate,
			Resolver:       v.DefaultResolver,
		},
	}
}
