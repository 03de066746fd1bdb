package metrics

import "github.com/prometheus/client_golang/prometheus"

// Settings returns a function to call when a key of a ConfigMap comes to have a value
// that is not valid, and when it has one no more. Keys are those of a table.
func (r *Registry) Settings() func(configMap, key string, invalid bool) {
	invalid := r.make.NewGaugeVec(prometheus.GaugeOpts{
		Name: "settings_invalid",
		Help: "Keys of ConfigMaps whose value is not valid, 1 each: the last good value is in force, or work waits for one.",
	}, []string{"configmap", "key"})
	return func(configMap, key string, is bool) {
		if is {
			invalid.WithLabelValues(configMap, key).Set(1)
		} else {
			invalid.DeleteLabelValues(configMap, key)
		}
	}
}
