// Package certificate keeps the serving certificate of the webhook, and keeps the
// API server trusting it.
//
//	                 ┌─────────────── one Secret ───────────────┐
//	replica A ──┐    │ ca.crt    whom to trust, youngest last    │
//	replica B ──┼───▶│ ca.key    of the youngest                 │
//	replica C ──┘    │ tls.crt   what every replica serves with  │
//	   │             │ tls.key                                   │
//	   │             └───────────────────────────────────────────┘
//	   └─ caBundle := ca.crt ──▶ webhook configurations, CRDs ──▶ API server
//
// Nobody leads. A replica looks (at the Secret on the server, at the caBundles in its
// caches), plans with a pure function, and does what the plan says; every write names
// the resourceVersion that was looked at, so of two replicas with the same idea one
// wins, and the other looks again.
//
// An authority is replaced in three steps, so that at no moment does the API server
// meet a certificate that it does not trust, be it as slow as Propagation and the
// replica as far behind as it likes:
//
//	               t0                t0+Propagation          A expires
//	ca.crt    A    │ A B             │ A B                   │ B
//	ca.key    a    │ b               │ b                     │ b
//	tls.crt   by A │ by A            │ by B                  │ by B
//	caBundle  A    │ A … all have A B│ A B                   │ B
//
// The key of A is gone at t0 already: it has nothing to sign any more.
//
// What it promises:
//
//  1. A serving certificate of an authority is not made before every holder of a
//     caBundle has had that authority for Propagation, unless there is none in use
//     that a client could still accept. (TestAClientThatTrustsWhatIsPublishedIsNeverRefused)
//  2. An authority leaves only when it has expired, and with it all that it has
//     signed; a replica that has missed everything since is still believed till then.
//  3. No write brings an older state back: see Keeper.Reconcile.
//     (TestASlowReplicaDoesNotPublishWhatWasTrustedEarlier)
//  4. A Secret that is deleted or overwritten is made again around the certificate in
//     use, with a new authority: deleting it is how to rotate by hand.
//     (TestADeletedSecretIsMadeAgainAroundTheCertificateInUse)
//  5. A caBundle that somebody overwrote is written again.
//  6. Only what names our service is written to: the conversion of a CRD that is
//     somebody else's stays theirs. (TestWhatIsSomebodyElsesIsLeftAlone)
//  7. Clocks that differ by less than Skew do no harm.
//
// It does not promise that nothing is refused before the first certificate is
// published, nor while all replicas have lost what was in memory and the Secret is
// gone as well.
//
// # Goroutines
//
// None. Reconcile is called by one worker at a time, Certificate and Ready by anybody.
package certificate
