package taskrun

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// shareDefaults gives steps that request nothing their part of what a LimitRange
// has containers request by default. The API server would give each of them the
// whole, and a pod of ten steps, which take turns, would request it ten times. The
// rest (limits, what sidecars get, what is out of bounds) is the API server's to do.
func shareDefaults(steps []mergedStep, ranges []corev1.LimitRange) {
	defaults := defaultRequests(ranges, len(steps))
	for i := range steps {
		resources := &steps[i].container.Resources
		for name, request := range defaults {
			_, requested := resources.Requests[name]
			_, limited := resources.Limits[name] // then that is the request, too
			if requested || limited {
				continue
			}
			resources.Requests = overList(resources.Requests, corev1.ResourceList{name: request})
		}
	}
}

// defaultRequests is the least that each of n steps must request: the smallest
// share of a default, but no less than any range allows.
func defaultRequests(ranges []corev1.LimitRange, n int) corev1.ResourceList {
	shares, least := corev1.ResourceList{}, corev1.ResourceList{}
	for _, r := range ranges {
		for _, item := range r.Spec.Limits {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			for name, quantity := range item.DefaultRequest {
				if _, ratio := item.MaxLimitRequestRatio[name]; !ratio { // a share would be too far below the limit
					keep(shares, name, divide(name, quantity, n), func(c int) bool { return c < 0 })
				}
			}
			for name, quantity := range item.Min {
				keep(least, name, quantity, func(c int) bool { return c > 0 })
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(shares)) {
		if quantity, ok := least[name]; ok {
			keep(shares, name, quantity, func(c int) bool { return c > 0 })
		}
	}
	return shares
}

// keep puts the quantity into the list if it compares so with the one there.
func keep(list corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity, better func(int) bool) {
	old, ok := list[name]
	if !ok || better(quantity.Cmp(old)) {
		list[name] = quantity
	}
}
