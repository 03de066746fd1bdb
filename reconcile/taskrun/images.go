package taskrun

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// Images tells what an image runs when nobody says what to run. Kubernetes need
// not know, but a step's entrypoint stands in front of the command and must.
type Images interface {
	// Entrypoint looks an image up in its registry, with these pull secrets. An error that is ErrNoImage
	// is the registry's own answer and will not get better by asking again; any
	// other is taken for trouble that passes.
	Entrypoint(ctx context.Context, image string, secrets []corev1.Secret) (Image, error)
}

// ErrNoImage is an answer of a registry, or of the reader of an image's name:
// there is no such image, or not for us.
var ErrNoImage = errors.New("no such image")

// Image is what the registry knows about an image.
type Image struct {
	// Pinned is the image by digest, so that the node runs the image that was
	// looked up; empty where nodes may pull from elsewhere.
	Pinned     string
	Entrypoint []string
	Cmd        []string
}

// imageAnswer is the outcome of one look-up.
type imageAnswer struct {
	Image Image
	Err   error
}

// command is what stands before the args of a step. As in Tekton, Cmd takes the
// place of an entrypoint that is not there even where the step has args.
func (i Image) command(hasArgs bool) []string {
	switch {
	case len(i.Entrypoint) == 0:
		return i.Cmd
	case hasArgs:
		return i.Entrypoint
	default:
		return append(slices.Clip(i.Entrypoint), i.Cmd...)
	}
}

// needsEntrypoint: neither command nor script says what the step runs.
func (s mergedStep) needsEntrypoint() bool {
	return s.Script == "" && len(s.container.Command) == 0
}

// lookups are the images of steps without command and script that have not been
// looked up in this reconcile, each once.
func (b blueprint) lookups(steps []mergedStep) []string {
	var images []string
	for _, step := range steps {
		if _, known := b.images[step.container.Image]; step.needsEntrypoint() && !known {
			images = appendOnce(images, step.container.Image)
		}
	}
	return images
}

// resolveCommands gives steps the command of their image. The error is a refusal
// where the image cannot be had, and something else where it may be had later.
func (b blueprint) resolveCommands(steps []mergedStep) error {
	for i := range steps {
		if !steps[i].needsEntrypoint() {
			continue
		}
		answer := b.images[steps[i].container.Image]
		if err := steps[i].take(answer); err != nil {
			return b.without(stepName(steps[i].Step, i), steps[i].container.Image, err)
		}
	}
	return nil
}

var errNothingToRun = errors.New("the image names nothing to run")

func (s *mergedStep) take(answer imageAnswer) error {
	if answer.Err != nil {
		return answer.Err
	}
	s.container.Command = answer.Image.command(len(s.container.Args) > 0)
	if len(s.container.Command) == 0 {
		return errNothingToRun
	}
	if answer.Image.Pinned != "" {
		s.container.Image = answer.Image.Pinned
	}
	return nil
}

func (b blueprint) without(step, image string, err error) error {
	if errors.Is(err, ErrNoImage) || errors.Is(err, errNothingToRun) {
		return &refusal{crds.TaskRunReasonPodCreationFailed, fmt.Sprintf(
			"failed to create task run pod %q: step %q has neither command nor script, and what its image %q runs cannot be found out: %v", b.run.Name, step, image, err)}
	}
	return fmt.Errorf("step %q has neither command nor script, and what its image %q runs could not be looked up: %w", step, image, err)
}

func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}
