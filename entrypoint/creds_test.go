package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secret puts a secret where the controller mounts it.
func (p *pod) secret(name string, keys map[string]string) {
	p.t.Helper()
	for key, value := range keys {
		p.must(os.MkdirAll(p.path("secrets", name), 0o755))
		p.must(os.WriteFile(p.path("secrets", name, key), []byte(value), 0o644))
	}
}

// withCredentials adds a step with flags for credentials, whose HOME is there.
func (p *pod) withCredentials(line string, flags ...string) *container {
	p.t.Helper()
	p.must(os.MkdirAll(p.path("home"), 0o755))
	c := p.sh(line, append([]string{"-creds_dir", p.path("creds"), "-creds_secrets_dir", p.path("secrets")}, flags...)...)
	c.Env = append(os.Environ(), "HOME="+p.path("home"))
	return c
}

// Claim 16: what Tekton lays out, byte for byte where tools care.
func TestCredentialsAreLaidOut(t *testing.T) {
	p := newPod(t)
	p.secret("login", map[string]string{"username": "me\n", "password": "p@ss/word\n"})
	p.secret("key", map[string]string{"ssh-privatekey": "PRIVATE\n", "known_hosts": "github.com ssh-rsa AAAA"})
	p.secret("other-key", map[string]string{"ssh-privatekey": "OTHER\n"})
	p.secret("config", map[string]string{".dockerconfigjson": `{"auths":{"a.example":{"auth":"QQ=="},"b.example":{"auth":"old"}},"credsStore":"x"}`})
	p.secret("cfg", map[string]string{".dockercfg": `{"c.example":{"auth":"Qw=="},"a.example":{"auth":"older"}}`})
	p.withCredentials("stat -c %a "+p.path("home", ".ssh", "id_key"),
		"-basic-git", "login=https://github.com", "-ssh-git", "key=github.com", "-ssh-git", "other-key=git.example:2222",
		"-docker-config", "config", "-docker-cfg", "cfg", "-basic-docker", "login=b.example").wants(0)
	equal(t, "mode of a key", p.steps[0].stdout.String(), "600\n")
	for _, home := range []string{"home", "creds"} {
		for file, want := range map[string]string{
			".gitconfig":       "[credential]\n\thelper = store\n[credential \"https://github.com\"]\n\tusername = \"me\"\n",
			".git-credentials": "https://me:p%40ss%2Fword@github.com\n",
			".ssh/id_key":      "PRIVATE\n",
			".ssh/config": "Host github.com\n    HostName github.com\n    Port 22\n    IdentityFile " + p.path("creds", ".ssh", "id_key") + "\n" +
				"Host git.example\n    HostName git.example\n    Port 2222\n    IdentityFile " + p.path("creds", ".ssh", "id_other-key") + "\n    StrictHostKeyChecking accept-new\n",
			".ssh/known_hosts":    "github.com ssh-rsa AAAA\n",
			".docker/config.json": `{"auths":{"a.example":{"auth":"QQ=="},"b.example":{"auth":"bWU6cEBzcy93b3Jk","email":"not@val.id","password":"p@ss/word","username":"me"},"c.example":{"auth":"Qw=="}}}`,
		} {
			equal(t, home+"/"+file, p.read(home, file), want)
		}
	}
}

// Nothing is laid out that was not given.
func TestOnlyGivenCredentialsAreLaidOut(t *testing.T) {
	p := newPod(t)
	p.secret("key", map[string]string{"ssh-privatekey": "PRIVATE"})
	p.withCredentials("true", "-ssh-git", "key=github.com").wants(0)
	p.withCredentials("true").wants(0)
	found, err := filepath.Glob(p.path("home", ".*"))
	p.must(err)
	equal(t, "files", strings.Join(found, " "), p.path("home", ".ssh"))
}

// A home that belongs to somebody else is no reason to fail.
func TestHomeThatCannotBeWritten(t *testing.T) {
	p := newPod(t)
	p.secret("login", map[string]string{"username": "me", "password": "x"})
	c := p.withCredentials("cat "+p.path("creds", ".git-credentials"), "-basic-git", "login=https://github.com")
	p.must(os.RemoveAll(p.path("home")))
	p.must(os.WriteFile(p.path("home"), nil, 0o644))
	c.wants(0).says("credentials are in ")
	equal(t, "credentials", c.stdout.String(), "https://me:x@github.com\n")
}

// What is wrong with a secret is told without what is in it.
func TestSecretsAreNotTold(t *testing.T) {
	const canary = "canary-5b1c"
	for flag, keys := range map[string]map[string]string{
		"-basic-git":     {"username": canary},
		"-basic-docker":  {"username": "a\n" + canary, "password": canary},
		"-ssh-git":       {"known_hosts": canary},
		"-docker-config": {".dockerconfigjson": `{"auths":"` + canary + `"}`},
		"-docker-cfg":    {".dockercfg": canary},
	} {
		p := newPod(t)
		p.secret("s", keys)
		value := "s"
		if !strings.HasPrefix(flag, "-docker-") {
			value = "s=https://example.com"
		}
		c := p.withCredentials("true", flag, value).wants(exitFailed).tells().says("secret s")
		message, err := os.ReadFile(c.message)
		p.must(err)
		if strings.Contains(c.stderr.String()+string(message), canary) {
			t.Errorf("%s tells: %s%s", flag, c.stderr, message)
		}
	}
}

func TestNamesOfSecretsStayInside(t *testing.T) {
	for _, value := range []string{"../x=https://a.example", "..=https://a.example", "=https://a.example", "x", "x="} {
		newPod(t).withCredentials("true", "-basic-git", value).wants(exitUsage)
	}
	newPod(t).withCredentials("true", "-docker-cfg", "a/b").wants(exitUsage)
}

func TestHostsOfSSHKeys(t *testing.T) {
	for text, want := range map[string]string{
		"github.com": "github.com 22", "host:2222": "host 2222", "*.example.com": "*.example.com 22",
		"[::1]:2222": "::1 2222", "[::1]": "::1 22", "2001:db8::1": "2001:db8::1 22",
		":": "", "": "", "host:": "", "host:ssh": "", "host:99999": "", "[::1": "", "[::1]x": "", "a b": "", "a#b": "", "a\nb": "", `"a"`: "",
	} {
		host, port, ok := hostPort(text)
		if got := host + " " + port; ok != (want != "") || ok && got != want {
			t.Errorf("%q is %s, %t; want %q", text, got, ok, want)
		}
	}
}
