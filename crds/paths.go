package crds

// Where the containers of a run find what the controller gives them. Authors of tasks
// write some of these themselves, so they are Tekton's; under the others nothing of
// theirs may be mounted.
const (
	PathWorkspaces        = "/workspace"
	PathHome              = "/tekton/home"
	PathResults           = "/tekton/results"
	PathSteps             = "/tekton/steps"
	PathRun               = "/tekton/run"
	PathScripts           = "/tekton/scripts"
	PathBin               = "/tekton/bin"
	PathCredentials       = "/tekton/creds"         //nolint:gosec // a path, and no credential
	PathCredentialSecrets = "/tekton/creds-secrets" //nolint:gosec // a path, and no credential
	PathTermination       = "/tekton/termination"
)
