package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// credentials are the secrets of the pod's ServiceAccount that git and container
// tools are to find. The controller mounts them, and says here which is for what;
// their contents are on no command line.
type credentials struct {
	dir     string // where they are laid out; HOME gets copies
	secrets string // where they are mounted, a directory each

	basicGit, sshGit, basicDocker []forURL
	dockerConfig, dockerCfg       []string
}

// forURL is a secret and what it is for.
type forURL struct{ secret, url string }

func secretsForURL(to *[]forURL) func(string) error {
	return func(text string) error {
		secret, url, ok := strings.Cut(text, "=")
		if !ok || url == "" || checkSecret(secret) != nil {
			return errors.New("want secret=url")
		}
		*to = append(*to, forURL{secret, url})
		return nil
	}
}

func secretNames(to *[]string) func(string) error {
	return func(secret string) error {
		*to = append(*to, secret)
		return checkSecret(secret)
	}
}

func checkSecret(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsRune(name, '/') {
		return fmt.Errorf("%q is no name of a secret", name)
	}
	return nil
}

// layOut writes the files that tools look for: .gitconfig, .git-credentials, .ssh
// and .docker/config.json, as Tekton does.
func (c credentials) layOut() error {
	files, err := c.files()
	if err != nil || len(files) == 0 {
		return err
	}
	if err := c.write(c.dir, files); err != nil {
		return fmt.Errorf("laying out credentials: %w", err)
	}
	home := os.Getenv("HOME")
	if home == "" || filepath.Clean(home) == filepath.Clean(c.dir) {
		return nil
	}
	if err := c.write(home, files); err != nil {
		// A step that needs none of them must not fail for it.
		complainf("credentials are in %s only: %v", c.dir, err)
	}
	return nil
}

// A credentialFile is a file below the home directory.
type credentialFile struct{ path, content string }

func (c credentials) files() ([]credentialFile, error) {
	var files []credentialFile
	for _, lay := range []func() ([]credentialFile, error){c.git, c.ssh, c.docker} {
		more, err := lay()
		if err != nil {
			return nil, err
		}
		files = append(files, more...)
	}
	return files, nil
}

func (c credentials) write(home string, files []credentialFile) error {
	for _, file := range files {
		at := filepath.Join(home, file.path)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return err
		}
		if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := writeNew(at, file.content, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// read reads one key of a secret. Who makes a secret with echo gives it a newline
// that is no part of a name or a password.
func (c credentials) read(secret, key string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(c.secrets, secret, key)) // kubelet makes these as links
	if err != nil {
		return "", fmt.Errorf("secret %s has no key %s that can be read", secret, key)
	}
	return string(raw), nil
}

func (c credentials) readLine(secret, key string) (string, error) {
	text, err := c.read(secret, key)
	text = strings.TrimRight(text, "\r\n")
	if err == nil && strings.ContainsFunc(text, unicode.IsControl) {
		return "", fmt.Errorf("key %s of secret %s has more than one line", key, secret)
	}
	return text, err
}

func (c credentials) login(secret string) (user, password string, err error) {
	if user, err = c.readLine(secret, "username"); err != nil {
		return "", "", err
	}
	password, err = c.readLine(secret, "password")
	return user, password, err
}

func (c credentials) git() ([]credentialFile, error) {
	if len(c.basicGit) == 0 {
		return nil, nil
	}
	config, logins := "[credential]\n\thelper = store\n", ""
	for _, g := range c.basicGit {
		user, password, err := c.login(g.secret)
		if err != nil {
			return nil, err
		}
		at, err := url.Parse(g.url)
		if err != nil || at.Host == "" {
			return nil, fmt.Errorf("the annotation of secret %s is no URL: %q", g.secret, g.url)
		}
		config += fmt.Sprintf("[credential %s]\n\tusername = %s\n", quoted(g.url), quoted(user))
		at.User = url.UserPassword(user, password)
		logins += at.String() + "\n"
	}
	return []credentialFile{{".gitconfig", config}, {".git-credentials", logins}}, nil
}

// quoted is a string in the syntax of git's configuration.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

func (c credentials) ssh() ([]credentialFile, error) {
	var files []credentialFile
	var config, known strings.Builder
	for _, s := range c.sshGit {
		key, err := c.read(s.secret, "ssh-privatekey")
		if err != nil {
			return nil, err
		}
		host, port, ok := hostPort(s.url)
		if !ok {
			return nil, fmt.Errorf("the annotation of secret %s is no host: %q", s.secret, s.url)
		}
		file := filepath.Join(".ssh", "id_"+s.secret)
		if !slices.ContainsFunc(files, func(f credentialFile) bool { return f.path == file }) {
			files = append(files, credentialFile{file, key})
		}
		fmt.Fprintf(&config, "Host %s\n    HostName %s\n    Port %s\n    IdentityFile %s\n", host, host, port, filepath.Join(c.dir, file))
		hosts, err := c.read(s.secret, "known_hosts")
		if err != nil {
			config.WriteString("    StrictHostKeyChecking accept-new\n")
			continue
		}
		known.WriteString(strings.TrimRight(hosts, "\n") + "\n")
	}
	if len(files) == 0 {
		return nil, nil
	}
	files = append(files, credentialFile{filepath.Join(".ssh", "config"), config.String()})
	if known.Len() > 0 {
		files = append(files, credentialFile{filepath.Join(".ssh", "known_hosts"), known.String()})
	}
	return files, nil
}

// hostPort takes host, host:port, [address]:port and address apart. What would end a
// word, or begin a comment, in the configuration of ssh is in none of them.
func hostPort(text string) (host, port string, ok bool) {
	host, port = text, "22"
	inside, after, bracketed := strings.Cut(strings.TrimPrefix(text, "["), "]")
	switch {
	case strings.HasPrefix(text, "[") && bracketed:
		host = inside
		if rest, has := strings.CutPrefix(after, ":"); has {
			port = rest
		} else if after != "" {
			return "", "", false
		}
	case strings.Count(text, ":") == 1:
		host, port, _ = strings.Cut(text, ":")
	}
	_, err := strconv.ParseUint(port, 10, 16)
	strange := strings.ContainsFunc(host, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("\"'\\#[]", r)
	})
	return host, port, err == nil && host != "" && !strange
}

// docker merges all that is for registries into one file. What one secret says of
// a registry a later one says over, and a name with a password over both.
func (c credentials) docker() ([]credentialFile, error) {
	auths := map[string]json.RawMessage{}
	for _, secret := range c.dockerCfg {
		if err := c.merge(&auths, secret, ".dockercfg"); err != nil {
			return nil, err
		}
	}
	for _, secret := range c.dockerConfig {
		inside := struct {
			Auths *map[string]json.RawMessage `json:"auths"`
		}{&auths}
		if err := c.merge(&inside, secret, ".dockerconfigjson"); err != nil {
			return nil, err
		}
	}
	for _, d := range c.basicDocker {
		user, password, err := c.login(d.secret)
		if err != nil {
			return nil, err
		}
		login := map[string]string{
			"username": user, "password": password, "email": "not@val.id",
			"auth": base64.StdEncoding.EncodeToString([]byte(user + ":" + password)),
		}
		if auths[d.url], err = json.Marshal(login); err != nil {
			return nil, err
		}
	}
	if len(auths) == 0 {
		return nil, nil
	}
	content, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		return nil, err
	}
	return []credentialFile{{filepath.Join(".docker", "config.json"), string(content)}}, nil
}

// merge reads JSON into a map that may hold something already.
func (c credentials) merge(into any, secret, key string) error {
	raw, err := c.read(secret, key)
	if err != nil {
		return err
	}
	if json.Unmarshal([]byte(raw), into) != nil {
		// Without what is wrong with it: that would cite it, and this goes to the log.
		return fmt.Errorf("key %s of secret %s is no JSON object of registries", key, secret)
	}
	return nil
}
