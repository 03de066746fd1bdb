package taskrun

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
)

func dockerSecret(config string) corev1.Secret {
	return corev1.Secret{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(config)}}
}

// What an image runs is looked up with the pull secrets of the run. Knowing the
// image is not having the right to it: the next run's secrets are asked for again.
func TestRegistryUsesPullSecrets(t *testing.T) {
	s := newShop(t)
	s.push(t, "team/tool:v1", []string{"/tool"}, nil)
	s.password = "canary-password"
	r := must(NewRegistry(RegistryConfig{}))
	image := s.host() + "/team/tool:v1"
	right := dockerSecret(`{"auths":{"http://` + s.host() + `/v2/":{"username":"me","password":"canary-password"}}}`)
	got, err := r.Entrypoint(context.Background(), image, []corev1.Secret{right})
	if err != nil || len(got.Entrypoint) != 1 {
		t.Fatalf("with the secret: %+v %v", got, err)
	}
	for name, secrets := range map[string][]corev1.Secret{
		"none":            nil,
		"the wrong one":   {dockerSecret(`{"auths":{"` + s.host() + `":{"username":"me","password":"canary-guess"}}}`)},
		"one of another":  {dockerSecret(`{"auths":{"other.example":{"username":"me","password":"canary-password"}}}`)},
		"one that is not": {dockerSecret(`canary-nonsense`), {Type: corev1.SecretTypeDockercfg}},
	} {
		_, err := r.Entrypoint(context.Background(), image, secrets)
		if !errors.Is(err, ErrNoImage) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Secrets for a registry are not for who stands in for it.
func TestMirrorGetsNoPullSecrets(t *testing.T) {
	s := newShop(t)
	s.push(t, "team/tool:v1", []string{"/tool"}, nil)
	s.password = "secret"
	r := must(NewRegistry(RegistryConfig{Mirror: s.URL}))
	_, err := r.Entrypoint(context.Background(), s.host()+"/team/tool:v1",
		[]corev1.Secret{dockerSecret(`{"auths":{"` + s.host() + `":{"username":"me","password":"secret"}}}`)})
	if !errors.Is(err, ErrNoImage) {
		t.Errorf("the mirror was told: %v", err)
	}
}

// The key that says most of the name wins.
func TestKeychainFindsTheNearestKey(t *testing.T) {
	k := newKeychain([]corev1.Secret{dockerSecret(`{"auths":{
		"https://index.docker.io/v1/": {"username":"hub"},
		"gcr.io": {"username":"gcr"}, "gcr.io/team": {"username":"team"}, "gcr.io/team/tool": {"username":"tool"},
		"*.example.com": {"username":"star"}}}`),
		{Type: corev1.SecretTypeDockercfg, Data: map[string][]byte{corev1.DockerConfigKey: []byte(`{"old.example":{"auth":"b2xkOng="}}`)}}})
	for image, want := range map[string]string{
		"busybox":                  "hub",
		"docker.io/team/x":         "hub",
		"gcr.io/x":                 "gcr",
		"gcr.io/team/x":            "team",
		"gcr.io/team/tool":         "tool",
		"gcr.io/teams/x":           "gcr",
		"a.example.com/x":          "star",
		"a.b.example.com/x":        "",
		"old.example/x":            "old",
		"evil.gcr.io/team/tool":    "",
		"gcr.io.evil.example/team": "",
	} {
		login := must(must(k.Resolve(must(name.ParseReference(image)).Context())).Authorization())
		if login.Username != want {
			t.Errorf("%s: as %q, want %q", image, login.Username, want)
		}
	}
	if none := must(newKeychain(nil).Resolve(must(name.ParseReference("x")).Context())); none != authn.Anonymous {
		t.Errorf("without secrets: %v", none)
	}
}
