package certificate

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The keys of the Secret. The first two are those of every kubernetes.io/tls Secret,
// ca.crt is what others call the bundle.
const (
	keyBundle    = "ca.crt"
	keySigner    = "ca.key"
	keyServing   = corev1.TLSCertKey
	keyServedKey = corev1.TLSPrivateKeyKey
)

// publishedAt is the annotation of the Secret that says since when every holder has
// had all of ca.crt.
const publishedAt = "millrace.dev/ca-published-at"

// contents is what the Secret says, as far as it can be made sense of: what is
// missing, garbage, or does not belong together is nil.
type contents struct {
	trusted []*x509.Certificate // authorities, in the order in which they came
	signer  *pair               // of the last of trusted
	serving *pair
	// published is the moment since when all holders have had all of trusted, as far
	// as anybody has seen; zero when they have not.
	published time.Time
}

// read takes a Secret apart; nil is one without anything.
func read(secret *corev1.Secret) (c contents) {
	if secret == nil {
		return c
	}
	c.trusted = authorities(secret.Data[keyBundle])
	if n := len(c.trusted); n > 0 {
		c.signer = together(c.trusted[n-1], secret.Data[keySigner])
	}
	if certs := certificates(secret.Data[keyServing]); len(certs) > 0 {
		c.serving = together(certs[0], secret.Data[keyServedKey])
	}
	if at, err := time.Parse(time.RFC3339, secret.Annotations[publishedAt]); err == nil {
		c.published = at
	}
	return c
}

// write puts the contents into a Secret, and leaves alone what else is in it.
func (c contents) write(into *corev1.Secret) error {
	data := map[string][]byte{keyBundle: bundle(c.trusted)}
	if c.serving != nil {
		data[keyServing] = bundle([]*x509.Certificate{c.serving.cert})
	}
	for name, p := range map[string]*pair{keySigner: c.signer, keyServedKey: c.serving} {
		if p == nil {
			continue
		}
		der, err := x509.MarshalECPrivateKey(p.key)
		if err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		data[name] = pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
	}
	if into.Data == nil {
		into.Data = map[string][]byte{}
	}
	for _, key := range []string{keyBundle, keySigner, keyServing, keyServedKey} {
		into.Data[key] = data[key]
	}
	delete(into.Annotations, publishedAt)
	if !c.published.IsZero() {
		metav1.SetMetaDataAnnotation(&into.ObjectMeta, publishedAt, c.published.UTC().Format(time.RFC3339))
	}
	return nil
}

// bundle is PEM, of the certificates in their order.
func bundle(certs []*x509.Certificate) []byte {
	var out bytes.Buffer
	for _, c := range certs {
		out.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw}))
	}
	return out.Bytes()
}

// certificates reads PEM, and passes over what is none.
func certificates(raw []byte) (certs []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, raw = pem.Decode(raw); block == nil {
			return certs
		}
		if cert, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			certs = append(certs, cert)
		}
	}
}

func authorities(raw []byte) []*x509.Certificate {
	return slices.DeleteFunc(certificates(raw), func(c *x509.Certificate) bool { return !c.IsCA })
}

// together is the pair, if the key is that of the certificate.
func together(cert *x509.Certificate, rawKey []byte) *pair {
	block, _ := pem.Decode(rawKey)
	if block == nil {
		return nil
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil
	}
	if public, is := cert.PublicKey.(*ecdsa.PublicKey); !is || !public.Equal(key.Public()) {
		return nil
	}
	return &pair{cert, key}
}

// trusts tells whether a client that knows these authorities would take the
// certificate for that of the name, at that time.
func trusts(trusted []*x509.Certificate, serving *pair, name string, at time.Time) bool {
	if serving == nil {
		return false
	}
	roots := x509.NewCertPool()
	for _, c := range trusted {
		roots.AddCert(c)
	}
	_, err := serving.cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: at})
	return err == nil
}

// forTLS is the pair as a server presents it.
func (p *pair) forTLS() *tls.Certificate {
	return &tls.Certificate{Certificate: [][]byte{p.cert.Raw}, PrivateKey: p.key, Leaf: p.cert}
}
