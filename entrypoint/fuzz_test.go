package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A reference that is taken leads to a file of a step's results, and nowhere else.
func FuzzReference(f *testing.F) {
	for _, seed := range []string{"step-a/r", "step-a/r[0]", "../x", "a/..", "a/b/c", "a/[0]", "/r", "a/", "./r", "a/r[../../x]", "a\x00/r"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		if checkRef(ref) != nil {
			return
		}
		whole, _, _ := strings.Cut(ref, "[")
		container, result, _ := strings.Cut(whole, "/")
		if container == ".." || strings.Contains(container, "/") {
			t.Fatalf("%q is of the step %q", ref, container)
		}
		const base = "/tekton/steps"
		at := filepath.Join(base, container, "results", result)
		if rel, err := filepath.Rel(base, at); err != nil || strings.Count(rel, "/") != 2 || !filepath.IsLocal(rel) {
			t.Errorf("%q is read at %s", ref, at)
		}
	})
}

// Conditions without references hold or not, as their words say.
func FuzzConditions(f *testing.F) {
	for _, seed := range []string{
		`[{"input":[{"text":"a"}],"operator":"in","values":[[{"text":"a"}]]}]`,
		`[{"input":[{"text":"a"},{"text":"b"}],"operator":"notin","values":[[{"text":"ab"}],[]]}]`,
		`[{"operator":"in"}]`, `[{"input":[{"ref":"s/r"}],"operator":"in"}]`, `{}`, `null`, `[null]`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		conditions, err := readConditions(raw)
		if err != nil {
			return
		}
		want := true
		for _, c := range conditions {
			words := func(t template) (text string, pure bool) {
				for _, p := range t {
					if p.Ref != "" {
						return "", false
					}
					text += p.Text
				}
				return text, true
			}
			input, pure := words(c.Input)
			var values []string
			for _, v := range c.Values {
				value, alone := words(v)
				values, pure = append(values, value), pure && alone
			}
			if !pure {
				return
			}
			want = want && slices.Contains(values, input) == (c.Operator == "in")
		}
		if holds, err := (step{when: conditions}).holds(); err != nil || holds != want {
			t.Errorf("%s: %t, %v; want %t", raw, holds, err, want)
		}
	})
}

// Whatever a result holds, a part of it is what encoding/json says it is.
func FuzzPart(f *testing.F) {
	for raw, key := range map[string]string{`["a"]`: "0", `{"0":"a"}`: "0", `{"k":"v"}`: "k", `[`: "0", `["a",1]`: "0", `null`: "0"} {
		f.Add(raw, key)
		f.Add(" "+raw, key)
	}
	dir := f.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "step-a", "results"), 0o755); err != nil {
		f.Fatal(err)
	}
	s := step{metadataDir: filepath.Join(dir, "step-b")}
	f.Fuzz(func(t *testing.T, raw, key string) {
		if strings.ContainsAny(key, "[]*") || key == "" || len(raw) > maxForeign {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "step-a", "results", "r"), []byte(raw), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := s.part("step-a/r[" + key + "]")
		var array []string
		var object map[string]string
		isArray, isObject := json.Unmarshal([]byte(raw), &array) == nil, json.Unmarshal([]byte(raw), &object) == nil
		switch {
		case err == nil && !isArray && !isObject:
			t.Errorf("%q of %q is %q", key, raw, got)
		case err == nil && isObject && object != nil && object[key] != got:
			t.Errorf("%q of %q is %q", key, raw, got)
		case err == nil && isArray && array != nil && !slices.Contains(array, got):
			t.Errorf("%q of %q is %q", key, raw, got)
		case err != nil && isObject && object != nil:
			if _, there := object[key]; there {
				t.Errorf("%q of %q: %v", key, raw, err)
			}
		}
	})
}

// Credentials are made of what others write: an annotation, a name, a password. Git
// reads back what they are, one line for each, and no setting that nobody made.
func FuzzGitCredentials(f *testing.F) {
	f.Add("https://github.com", "me", "p@ss:w/rd#")
	f.Add("https://x\"]\n[core]\n\tsshCommand = evil", "me", "pw")
	f.Add("ssh://host", "a\nb", "c")
	f.Add("https://user@host/path?q#f", "ü", "\\\"")
	f.Add("//host", "", "")
	f.Fuzz(func(t *testing.T, at, user, password string) {
		if strings.ContainsRune(at, 0) {
			return // no argument has one
		}
		secrets := t.TempDir()
		give(t, secrets, "s", map[string]string{"username": user, "password": password})
		var c credentials
		c.secrets, c.dir = secrets, t.TempDir()
		if secretsForURL(&c.basicGit)("s="+at) != nil {
			return
		}
		files, err := c.git()
		if err != nil {
			return
		}
		config, logins := files[0].content, files[1].content
		if lines := strings.Split(strings.TrimSuffix(logins, "\n"), "\n"); len(lines) != 1 {
			t.Fatalf("%d lines of logins: %q", len(lines), logins)
		}
		read, err := url.Parse(strings.TrimSuffix(logins, "\n"))
		if err != nil {
			t.Fatalf("git cannot read %q: %v", logins, err)
		}
		pass, _ := read.User.Password()
		if want := strings.TrimRight(user, "\r\n"); read.User.Username() != want || pass != strings.TrimRight(password, "\r\n") {
			t.Errorf("%q, %q became %q", user, password, logins)
		}
		if n := strings.Count(config, "\n"); n != 4 {
			t.Errorf("%d lines of configuration: %q", n, config)
		}
	})
}

// The configuration of ssh has one Host for each secret, whatever its annotation says.
func FuzzSSHConfig(f *testing.F) {
	for _, seed := range []string{"github.com", "host:2222", "a\n    ProxyCommand evil", "a b", "*", "host\tProxyCommand", "[::1]:22", ":", "!x", "h#x", "\"x\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, host string) {
		secrets := t.TempDir()
		give(t, secrets, "s", map[string]string{"ssh-privatekey": "key", "known_hosts": "known"})
		c := credentials{secrets: secrets, dir: "/tekton/creds"}
		if strings.ContainsRune(host, 0) || secretsForURL(&c.sshGit)("s="+host) != nil {
			return
		}
		files, err := c.ssh()
		if err != nil {
			return
		}
		for _, file := range files {
			if !filepath.IsLocal(file.path) {
				t.Errorf("written to %s", file.path)
			}
			if file.path != filepath.Join(".ssh", "config") {
				continue
			}
			var words []string
			for line := range strings.Lines(file.content) {
				fields := strings.Fields(line)
				if len(fields) != 2 {
					t.Fatalf("%q has the line %q", host, line)
				}
				words = append(words, fields[0])
			}
			if got := strings.Join(words, " "); got != "Host HostName Port IdentityFile" {
				t.Errorf("%q sets %s", host, got)
			}
		}
	})
}

func give(tb testing.TB, dir, secret string, keys map[string]string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Join(dir, secret), 0o755); err != nil {
		tb.Fatal(err)
	}
	for key, value := range keys {
		if err := os.WriteFile(filepath.Join(dir, secret, key), []byte(value), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}
