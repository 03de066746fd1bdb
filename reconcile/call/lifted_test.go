package call

import "testing"

// A webhook that does not answer is an error of the server, and yet a refusal that
// time may lift; other errors of the server are none.
func TestAWebhookThatIsAwayIsARefusalThatMayBeLifted(t *testing.T) {
	away := statusError(500, "InternalError", `Internal error occurred: failed calling webhook "policy.example.com": connection refused`)
	if !WebhookAway(away) || !MayBeLifted(away) {
		t.Error("a webhook that is away is not taken for a refusal")
	}
	if broken := statusError(500, "InternalError", "Internal error occurred: etcdserver: no leader"); WebhookAway(broken) || MayBeLifted(broken) {
		t.Error("a server in trouble is taken for a refusal")
	}
}
