package certificate

import "time"

// Config of a Keeper. DNSName and SecretName must be set; the rest works at zero.
type Config struct {
	// DNSName is what the API server calls the webhook by: service.namespace.svc.
	DNSName string
	// SecretName is that of the Secret, in the namespace of the install.
	SecretName string

	// ServingLifetime is how long a serving certificate is valid. It is replaced when
	// a third of that is left. Default 7 days: there is no revocation, so a key that
	// got out is of use for a week at most; and with the control plane away for two
	// days nothing expires.
	ServingLifetime time.Duration
	// AuthorityLifetime is how long an authority is trusted. It is replaced when half of
	// that is left, and what it has signed does not outlive it. Default 28 days: short,
	// since each replacement is what the next one is rehearsed by.
	AuthorityLifetime time.Duration
	// Propagation is how long an API server may take to obey a caBundle that was
	// written. Default 5 minutes: they watch, and follow within a second when all is
	// well; nothing is lost by waiting longer, up to a quarter of ServingLifetime: the
	// certificate in use has to last until the next authority may sign.
	Propagation time.Duration
	// Skew is by how much clocks of replicas and API servers may differ. Certificates
	// are valid that much earlier, and authorities trusted that much longer, than
	// their maker's clock says. Default: 1 hour.
	Skew time.Duration
	// LookAgain is how often the Secret is read although nothing is due and no watch
	// tells of anything. Default: 10 minutes.
	LookAgain time.Duration
}

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&c.ServingLifetime, 7 * 24 * time.Hour},
		{&c.AuthorityLifetime, 28 * 24 * time.Hour},
		{&c.Propagation, 5 * time.Minute},
		{&c.Skew, time.Hour},
		{&c.LookAgain, 10 * time.Minute},
	} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	return c
}

// servingMargin is what is left of a serving certificate when it is replaced.
func (c Config) servingMargin() time.Duration { return c.ServingLifetime / 3 }

func (c Config) authorityMargin() time.Duration { return c.AuthorityLifetime / 2 }
