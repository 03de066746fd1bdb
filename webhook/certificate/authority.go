package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"time"
)

// A pair is a certificate and the key that belongs to it.
type pair struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

const authorityName = "millrace-webhook-ca"

// newAuthority makes one that signs itself.
func newAuthority(now time.Time, c Config) (*pair, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: authorityName},
		NotBefore:             now.Add(-c.Skew),
		NotAfter:              now.Add(c.AuthorityLifetime),
		KeyUsage:              x509.KeyUsageCertSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true, // it signs serving certificates, and no other authority
	}
	p, err := signed(template, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate authority: %w", err)
	}
	return p, nil
}

// issue makes a serving certificate, which does not outlive its authority.
func issue(by *pair, now time.Time, c Config) (*pair, error) {
	end := now.Add(c.ServingLifetime)
	if by.cert.NotAfter.Before(end) {
		end = by.cert.NotAfter
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: c.DNSName},
		DNSNames:    []string{c.DNSName},
		NotBefore:   now.Add(-c.Skew),
		NotAfter:    end,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	p, err := signed(template, by)
	if err != nil {
		return nil, fmt.Errorf("make a serving certificate: %w", err)
	}
	return p, nil
}

// signed makes the key, and has the certificate signed by an authority or, without
// one, by itself. RFC 5280 has serial numbers of 20 octets at most, and positive.
func signed(template *x509.Certificate, by *pair) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return nil, fmt.Errorf("make a serial number: %w", err)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.cert, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read what was signed: %w", err)
	}
	return &pair{cert, key}, nil
}
