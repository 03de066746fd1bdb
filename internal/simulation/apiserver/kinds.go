package apiserver

import (
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rules are what servers do to objects of one built-in kind: what they fill in
// and what they refuse, as far as the program can come upon it.
type rules struct {
	global, status bool
	fields         []string
	// insists on a version in each update.
	insists bool
	// upserts: an update makes what is not there.
	upserts bool
	// counts its generations.
	counts bool
	// fill in what was left out, of any body.
	fill func(runtime.Object)
	// begin fills in what belongs to a new object alone.
	begin func(runtime.Object)
	// check an object. Before is nil for a new one.
	check func(before, after runtime.Object) field.ErrorList
}

// ruled gives functions of one type the type that rules have.
func ruled[T any](f func(*T)) func(runtime.Object) {
	return func(o runtime.Object) { f(any(o).(*T)) } //nolint:forcetypeassert // the rules of a kind meet that kind
}

func checked[T any](f func(before, after *T) field.ErrorList) func(before, after runtime.Object) field.ErrorList {
	return func(before, after runtime.Object) field.ErrorList {
		var b *T
		if before != nil {
			b = any(before).(*T) //nolint:forcetypeassert // the rules of a kind meet that kind
		}
		return f(b, any(after).(*T)) //nolint:forcetypeassert // the rules of a kind meet that kind
	}
}

// orElse sets what is not set.
func orElse[T comparable](at *T, value T) {
	var zero T
	if *at == zero {
		*at = value
	}
}

func pointTo[T any](at **T, value T) {
	if *at == nil {
		*at = &value
	}
}

const immutable = "field is immutable"

func configMapRules() rules {
	return rules{check: checked(func(before, after *corev1.ConfigMap) (errs field.ErrorList) {
		if before != nil && before.Immutable != nil && *before.Immutable && !equality.Semantic.DeepEqual(before.Data, after.Data) {
			errs = append(errs, field.Forbidden(field.NewPath("data"), immutable+" when `immutable` is set"))
		}
		return errs
	})}
}

func secretRules() rules {
	return rules{
		fill: ruled(func(s *corev1.Secret) {
			orElse(&s.Type, corev1.SecretTypeOpaque)
			for k, v := range s.StringData {
				if s.Data == nil {
					s.Data = map[string][]byte{}
				}
				s.Data[k] = []byte(v)
			}
			s.StringData = nil
		}),
		check: checked(func(before, after *corev1.Secret) (errs field.ErrorList) {
			if before != nil && before.Type != after.Type {
				errs = append(errs, field.Invalid(field.NewPath("type"), after.Type, immutable))
			}
			return errs
		}),
	}
}

func leaseRules() rules {
	return rules{insists: true, upserts: true, check: checked(func(_, after *coordinationv1.Lease) (errs field.ErrorList) {
		if d := after.Spec.LeaseDurationSeconds; d != nil && *d <= 0 {
			errs = append(errs, field.Invalid(field.NewPath("spec", "leaseDurationSeconds"), *d, "must be greater than 0"))
		}
		return errs
	})}
}

func eventRules() rules {
	return rules{
		upserts: true,
		fields: []string{
			"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid", "involvedObject.apiVersion",
			"involvedObject.resourceVersion", "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type",
		},
		check: checked(func(_, after *corev1.Event) (errs field.ErrorList) {
			if of := after.InvolvedObject.Namespace; of != after.Namespace {
				errs = append(errs, field.Invalid(field.NewPath("involvedObject", "namespace"), of, "does not match event.namespace"))
			}
			return errs
		}),
	}
}

func limitRangeRules() rules {
	return rules{upserts: true, fill: ruled(func(l *corev1.LimitRange) {
		for i := range l.Spec.Limits {
			of := &l.Spec.Limits[i]
			if of.Type != corev1.LimitTypeContainer {
				continue
			}
			of.Default = resourcesOrElse(of.Default, of.Max)
			of.DefaultRequest = resourcesOrElse(of.DefaultRequest, of.Default, of.Min)
		}
	})}
}

func resourcesOrElse(of corev1.ResourceList, others ...corev1.ResourceList) corev1.ResourceList {
	for _, other := range others {
		for name, amount := range other {
			if _, ok := of[name]; ok {
				continue
			}
			if of == nil {
				of = corev1.ResourceList{}
			}
			of[name] = amount
		}
	}
	return of
}

func claimRules() rules {
	return rules{
		status: true,
		fill: ruled(func(c *corev1.PersistentVolumeClaim) {
			pointTo(&c.Spec.VolumeMode, corev1.PersistentVolumeFilesystem)
			orElse(&c.Status.Phase, corev1.ClaimPending)
		}),
		check: checked(func(_, after *corev1.PersistentVolumeClaim) (errs field.ErrorList) {
			spec := field.NewPath("spec")
			if len(after.Spec.AccessModes) == 0 {
				errs = append(errs, field.Required(spec.Child("accessModes"), "at least 1 access mode is required"))
			}
			if _, ok := after.Spec.Resources.Requests[corev1.ResourceStorage]; !ok {
				errs = append(errs, field.Required(spec.Child("resources").Key("storage"), ""))
			}
			return errs
		}),
	}
}

func podRules() rules {
	return rules{
		status: true, counts: true,
		fields: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"},
		fill:   ruled(fillPod),
		begin:  ruled(beginPod),
		check:  checked(checkPod),
	}
}

func fillPod(p *corev1.Pod) {
	s := &p.Spec
	orElse(&s.RestartPolicy, corev1.RestartPolicyAlways)
	orElse(&s.DNSPolicy, corev1.DNSClusterFirst)
	orElse(&s.SchedulerName, corev1.DefaultSchedulerName)
	pointTo(&s.TerminationGracePeriodSeconds, 30)
	pointTo(&s.SecurityContext, corev1.PodSecurityContext{})
	pointTo(&s.EnableServiceLinks, true)
	for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range containers {
			fillContainer(&containers[i])
		}
	}
	for i := range s.Volumes {
		fillVolume(&s.Volumes[i])
	}
}

func fillContainer(c *corev1.Container) {
	orElse(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	orElse(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = corev1.PullIfNotPresent
		name := c.Image[strings.LastIndex(c.Image, "/")+1:]
		if !strings.Contains(name, ":") && !strings.Contains(name, "@") || strings.HasSuffix(name, ":latest") {
			c.ImagePullPolicy = corev1.PullAlways
		}
	}
	for _, env := range c.Env {
		if env.ValueFrom != nil && env.ValueFrom.FieldRef != nil {
			orElse(&env.ValueFrom.FieldRef.APIVersion, "v1")
		}
	}
	for name, amount := range c.Resources.Limits {
		if _, ok := c.Resources.Requests[name]; !ok {
			c.Resources.Requests = resourcesOrElse(c.Resources.Requests, corev1.ResourceList{name: amount})
		}
	}
}

func fillVolume(v *corev1.Volume) {
	const mode = 0o644
	switch {
	case v.Secret != nil:
		pointTo(&v.Secret.DefaultMode, mode)
	case v.ConfigMap != nil:
		pointTo(&v.ConfigMap.DefaultMode, mode)
	case v.DownwardAPI != nil:
		pointTo(&v.DownwardAPI.DefaultMode, mode)
		fillPaths(v.DownwardAPI.Items)
	case v.Projected != nil:
		pointTo(&v.Projected.DefaultMode, mode)
		for _, source := range v.Projected.Sources {
			if source.ServiceAccountToken != nil {
				pointTo(&source.ServiceAccountToken.ExpirationSeconds, 3600)
			}
			if source.DownwardAPI != nil {
				fillPaths(source.DownwardAPI.Items)
			}
		}
	}
}

func fillPaths(files []corev1.DownwardAPIVolumeFile) {
	for _, file := range files {
		if file.FieldRef != nil {
			orElse(&file.FieldRef.APIVersion, "v1")
		}
	}
}

// beginPod is what admission does, and a new pod's status.
func beginPod(p *corev1.Pod) {
	s := &p.Spec
	orElse(&s.ServiceAccountName, "default")
	s.DeprecatedServiceAccount = s.ServiceAccountName
	pointTo(&s.Priority, 0)
	pointTo(&s.PreemptionPolicy, corev1.PreemptLowerPriority)
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		if !slices.ContainsFunc(s.Tolerations, func(t corev1.Toleration) bool { return t.Key == key }) {
			seconds := int64(300)
			s.Tolerations = append(s.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodPending, QOSClass: qualityOf(s)}
}

// qualityOf is the class of a pod: all limited, none, or something between.
func qualityOf(s *corev1.PodSpec) corev1.PodQOSClass {
	best, guaranteed := true, true
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			limit, limited := c.Resources.Limits[name]
			request, requested := c.Resources.Requests[name]
			best = best && !limited && !requested
			guaranteed = guaranteed && limited && requested && limit.Cmp(request) == 0
		}
	}
	switch {
	case best:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	default:
		return corev1.PodQOSBurstable
	}
}

func checkPod(before, after *corev1.Pod) (errs field.ErrorList) {
	spec := field.NewPath("spec")
	if before != nil {
		return checkPodUpdate(spec, before, after)
	}
	if len(after.Spec.Containers) == 0 {
		errs = append(errs, field.Required(spec.Child("containers"), ""))
	}
	volumes := map[string]bool{}
	for _, v := range after.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, of := range []struct {
		name       string
		containers []corev1.Container
	}{{"containers", after.Spec.Containers}, {"initContainers", after.Spec.InitContainers}} {
		for i, c := range of.containers {
			errs = append(errs, checkContainer(spec.Child(of.name).Index(i), c, volumes)...)
		}
	}
	return errs
}

func checkContainer(path *field.Path, c corev1.Container, volumes map[string]bool) (errs field.ErrorList) {
	if c.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	for i, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			errs = append(errs, field.NotFound(path.Child("volumeMounts").Index(i).Child("name"), m.Name))
		}
	}
	return errs
}

// checkPodUpdate lets little of a pod change. Servers show the difference, too.
func checkPodUpdate(spec *field.Path, before, after *corev1.Pod) field.ErrorList {
	was, is := before.Spec.DeepCopy(), after.Spec.DeepCopy()
	// A deadline can only be lowered.
	if old, now := was.ActiveDeadlineSeconds, is.ActiveDeadlineSeconds; old != nil && (now == nil || *now > *old) {
		if now == nil {
			return field.ErrorList{field.Invalid(spec.Child("activeDeadlineSeconds"), now, "must not update from a positive integer to nil value")}
		}
		return field.ErrorList{field.Invalid(spec.Child("activeDeadlineSeconds"), *now, "must be less than or equal to previous value")}
	}
	for _, s := range []*corev1.PodSpec{was, is} {
		s.ActiveDeadlineSeconds, s.NodeName, s.Tolerations = nil, "", nil
		for _, containers := range [][]corev1.Container{s.InitContainers, s.Containers} {
			for i := range containers {
				containers[i].Image = ""
			}
		}
	}
	if equality.Semantic.DeepEqual(was, is) {
		return nil
	}
	return field.ErrorList{field.Forbidden(spec, "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)")}
}
