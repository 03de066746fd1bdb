package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
)

// A run of two steps and its pod, as a real node has left them (testdata/README.md).
//
//go:embed testdata/taskrun.json testdata/pod.json
var recorded embed.FS

// What is said of the recorded run only.
const (
	recordedName      = "build-00001"
	recordedNamespace = `"namespace": "real"`
	recordedUID       = "2d27d1eb-ed57-43a7-9e13-2cefeff751b3"
)

// original is what copies are made of.
type original struct {
	taskRun, pod string

	// varying are the texts that two runs have not in common: digests, commits, IDs of
	// containers, times.
	hexes, times []string
}

var (
	hexPattern  = regexp.MustCompile(`\b[0-9a-f]{40,64}\b`)
	timePattern = regexp.MustCompile(`\b2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z`)
)

func newOriginal() (*original, error) {
	o := &original{}
	for name, text := range map[string]*string{"taskrun": &o.taskRun, "pod": &o.pod} {
		raw, err := recorded.ReadFile("testdata/" + name + ".json")
		if err != nil {
			return nil, err
		}
		*text = string(raw)
	}
	both := o.taskRun + o.pod
	for _, hex := range distinct(hexPattern.FindAllString(both, -1)) {
		// Images are the same for each run of a Task.
		if !strings.Contains(both, "@sha256:"+hex) {
			o.hexes = append(o.hexes, hex)
		}
	}
	o.times = distinct(timePattern.FindAllString(both, -1))
	return o, nil
}

func distinct(all []string) (some []string) {
	seen := map[string]bool{}
	for _, each := range all {
		if !seen[each] {
			seen[each] = true
			some = append(some, each)
		}
	}
	return some
}

// A twin is copy number n, in a namespace.
type twin struct {
	taskRun, pod string

	uid string // what stands for the UID of the run
}

// copyOf makes the run again, with another name, and with all else of the same length.
func (o *original) copyOf(n int, namespace string) (twin, error) {
	random := rand.New(rand.NewPCG(1, uint64(n)))
	pairs := []string{recordedName, fmt.Sprintf("build-%05d", n), recordedNamespace, fmt.Sprintf(`"namespace": %q`, namespace)}
	for _, hex := range o.hexes {
		pairs = append(pairs, hex, hexOf(random, len(hex)))
	}
	shift := time.Duration(random.Int64N(int64(30*24*time.Hour))).Truncate(time.Second) + time.Duration(random.IntN(1000))*time.Millisecond
	for _, text := range o.times {
		t, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return twin{}, err
		}
		layout := time.RFC3339
		if strings.Contains(text, ".") {
			layout = "2006-01-02T15:04:05.000Z07:00"
		}
		pairs = append(pairs, text, t.Add(-shift).Format(layout))
	}
	with := strings.NewReplacer(pairs...)
	return twin{taskRun: with.Replace(o.taskRun), pod: with.Replace(o.pod), uid: recordedUID}, nil
}

func hexOf(random *rand.Rand, n int) string {
	const digits = "0123456789abcdef"
	b := make([]byte, n)
	for i := range b {
		b[i] = digits[random.IntN(len(digits))]
	}
	return string(b)
}

// podOf is the pod of the run that the server gave that UID.
func (t twin) podOf(uid string) []byte { return []byte(strings.ReplaceAll(t.pod, t.uid, uid)) }

// asStored is an object as a write to its status has to name it.
func asStored(object []byte, h head) ([]byte, error) {
	begin := []byte(`"metadata": {`)
	if bytes.Count(object, begin) != 1 {
		return nil, fmt.Errorf("%d times metadata in an object of the record", bytes.Count(object, begin))
	}
	named := fmt.Appendf(nil, `"metadata": {"uid": %q, "resourceVersion": %q,`, h.Metadata.UID, h.Metadata.ResourceVersion)
	return bytes.Replace(object, begin, named, 1), nil
}

// withoutStatus is the run as somebody asks for it.
func withoutStatus(taskRun string) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal([]byte(taskRun), &object); err != nil {
		return nil, err
	}
	delete(object, "status")
	return json.Marshal(object)
}
