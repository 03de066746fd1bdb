package taskrun

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// pullSecrets are what the node would pull the run's images with: those of the pod
// template, or of the ServiceAccount where that names none (as the API server's
// admission does it). Secrets that are not there are left out, as on the node.
func (r *Reconciler) pullSecrets(ctx context.Context, o *observation) ([]corev1.Secret, error) {
	names := podTemplate(o.Run, o.config).ImagePullSecrets
	if len(names) == 0 {
		account, err := r.account(ctx, o)
		if err != nil {
			return nil, err
		}
		if account != nil {
			names = account.ImagePullSecrets
		}
	}
	var secrets []corev1.Secret
	for _, name := range names {
		if name.Name == "" { // the kubelet passes it over, too
			continue
		}
		secret, err := r.parts.Client.GetSecret(ctx, types.NamespacedName{Namespace: o.Run.Namespace, Name: name.Name})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("get the pull secret %q: %w", name.Name, err)
		default:
			secrets = append(secrets, *secret)
		}
	}
	return secrets, nil
}

// A keychain finds the login for a repository as the kubelet does: the key that
// says most of the repository's name wins; stars stand for parts of a host name.
type keychain map[string]authn.AuthConfig

var _ authn.Keychain = keychain{}

// newKeychain reads pull secrets. One that is not what its type says is of no use,
// and is left out; the registry's refusal will tell.
func newKeychain(secrets []corev1.Secret) keychain {
	found := keychain{}
	for _, secret := range secrets {
		var config struct {
			Auths map[string]authn.AuthConfig `json:"auths"`
		}
		switch secret.Type {
		case corev1.SecretTypeDockerConfigJson:
			_ = json.Unmarshal(secret.Data[corev1.DockerConfigJsonKey], &config)
		case corev1.SecretTypeDockercfg:
			_ = json.Unmarshal(secret.Data[corev1.DockerConfigKey], &config.Auths)
		}
		for key, login := range config.Auths {
			found[repositoryOf(key)] = login
		}
	}
	return found
}

// repositoryOf takes off what a key has beside the name of a repository.
func repositoryOf(key string) string {
	key = strings.TrimPrefix(strings.TrimPrefix(key, "https://"), "http://")
	key = strings.TrimSuffix(key, "/")
	key = strings.TrimSuffix(strings.TrimSuffix(key, "/v1"), "/v2")
	if host, rest, _ := strings.Cut(key, "/"); host == "docker.io" || host == "registry-1.docker.io" {
		key = strings.TrimSuffix("index.docker.io/"+rest, "/")
	}
	return key
}

// Resolve is authn.Keychain.
func (k keychain) Resolve(resource authn.Resource) (authn.Authenticator, error) {
	best, length := authn.Anonymous, -1
	for key, login := range k {
		if len(key) > length && covers(key, resource.String()) {
			best, length = authn.FromConfig(login), len(key)
		}
	}
	return best, nil
}

func covers(key, repository string) bool {
	keyHost, keyPath, _ := strings.Cut(key, "/")
	host, rest, _ := strings.Cut(repository, "/")
	if strings.Count(keyHost, ".") != strings.Count(host, ".") {
		return false
	}
	if ok, err := path.Match(keyHost, host); !ok || err != nil {
		return false
	}
	return keyPath == "" || rest == keyPath || strings.HasPrefix(rest, keyPath+"/")
}
