package taskrun

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/call"
)

// Annotations by which a secret says what it is for, each with a suffix that tells
// several apart.
const (
	annotationGit    = "tekton.dev/git-"
	annotationDocker = "tekton.dev/docker-"
)

const (
	credentialSecretsDir = crds.PathCredentialSecrets
	secretVolume         = volumePrefix + "secret-"
	credentialVolume     = "tekton-creds-init-home-" //nolint:gosec // a name; the number of the step follows
)

// A credential is a secret of the ServiceAccount that the steps get: what it is for,
// and nothing of what is in it. Plans and logs never see that.
type credential struct {
	Secret string
	Flags  []string // of the entrypoint
}

// observeCredentials finds what the pod's ServiceAccount has for git and registries.
// It costs a call for each secret that the account lists, and none for accounts
// without, which since Kubernetes 1.24 are most.
func (r *Reconciler) observeCredentials(ctx context.Context, o *observation) error {
	if o.config.DisableCredentials || o.Run.DeletionTimestamp != nil || !o.config.ours(o.Run) {
		return nil
	}
	account, err := r.account(ctx, o)
	if account == nil || err != nil {
		return err
	}
	names := secretsOf(account)
	if len(names) == 0 {
		return nil
	}
	var known bool
	if o.Credentials, known = r.recall.credentials(o.Run, names, time.Now()); known {
		return nil
	}
	for _, name := range names {
		secret, err := r.parts.Client.GetSecret(ctx, types.NamespacedName{Namespace: o.Run.Namespace, Name: name})
		switch {
		case apierrors.IsNotFound(err):
			r.warn(o.Run, "FailedToRetrieveSecret", fmt.Sprintf("ServiceAccount %q lists a secret %q that is not there", account.Name, name))
		case apierrors.IsForbidden(err):
			o.NoSecret = fmt.Errorf("the run waits until the controller may read the secrets that ServiceAccount %q lists: %w", account.Name, err)
			return nil
		case err != nil:
			return fmt.Errorf("get Secret: %w", err)
		default:
			if flags := credentialFlags(secret); len(flags) > 0 {
				o.Credentials = append(o.Credentials, credential{name, flags})
			}
		}
	}
	r.recall.keep(o.Run, names, o.Credentials, time.Now())
	return nil
}

// secretsOf are the secrets that an account lists, each once. Entries may repeat, and
// need not have a name: nobody checks them.
func secretsOf(account *corev1.ServiceAccount) []string {
	var names []string
	for _, listed := range account.Secrets {
		if listed.Name != "" {
			names = appendOnce(names, listed.Name)
		}
	}
	return names
}

// account is the ServiceAccount of the pod; nil where there is none yet, which the
// creation of the pod will tell.
func (r *Reconciler) account(ctx context.Context, o *observation) (*corev1.ServiceAccount, error) {
	name := serviceAccount(o.Run, o.config)
	if name == "" {
		name = "default"
	}
	account, _, err := call.Find(ctx, types.NamespacedName{Namespace: o.Run.Namespace, Name: name}, r.parts.Caches.ServiceAccount, r.parts.Client.GetServiceAccount)
	if err != nil {
		return nil, fmt.Errorf("get ServiceAccount: %w", err)
	}
	return account, nil
}

func (r *Reconciler) warn(run *crds.TaskRun, reason, message string) {
	if r.parts.Recorder != nil {
		r.parts.Recorder.Event(objectReference(run), corev1.EventTypeWarning, reason, message)
	}
}

// credentialFlags tell the entrypoint what a secret is for; none if it is for
// nothing that steps know.
func credentialFlags(secret *corev1.Secret) []string {
	var flags []string
	add := func(flag, prefix string) {
		for _, key := range slices.Sorted(maps.Keys(secret.Annotations)) {
			if strings.HasPrefix(key, prefix) {
				flags = append(flags, flag, secret.Name+"="+secret.Annotations[key])
			}
		}
	}
	switch secret.Type {
	case corev1.SecretTypeBasicAuth:
		add("-basic-git", annotationGit)
		add("-basic-docker", annotationDocker)
	case corev1.SecretTypeSSHAuth:
		add("-ssh-git", annotationGit)
	case corev1.SecretTypeDockerConfigJson:
		flags = append(flags, "-docker-config", secret.Name)
	case corev1.SecretTypeDockercfg:
		flags = append(flags, "-docker-cfg", secret.Name)
	}
	return flags
}

// credentialVolumes are the secrets, and for each step a place of its own in
// memory to lay them out in.
func (b blueprint) credentialVolumes() []corev1.Volume {
	var volumes []corev1.Volume
	for _, c := range b.credentials {
		volumes = append(volumes, corev1.Volume{Name: secretVolumeName(c.Secret), VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: c.Secret},
		}})
	}
	for i := range b.spec.Steps {
		if len(b.credentials) > 0 {
			home := emptyDir(credentialVolume + strconv.Itoa(i))
			home.EmptyDir.Medium = corev1.StorageMediumMemory
			volumes = append(volumes, home)
		}
	}
	return volumes
}

func (b blueprint) credentialMounts(step int) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	for _, c := range b.credentials {
		mounts = append(mounts, corev1.VolumeMount{Name: secretVolumeName(c.Secret), MountPath: credentialSecretsDir + "/" + c.Secret, ReadOnly: true})
	}
	if len(mounts) > 0 {
		mounts = append(mounts, corev1.VolumeMount{Name: credentialVolume + strconv.Itoa(step), MountPath: credentialsDir})
	}
	return mounts
}

func (b blueprint) credentialArgs() []string {
	var args []string
	for _, c := range b.credentials {
		for _, flag := range c.Flags {
			args = append(args, escape(flag))
		}
	}
	return args
}

// secretVolumeName is short enough for any name of a secret.
func secretVolumeName(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return secretVolume + hex.EncodeToString(sum[:])[:10]
}
