package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// config is what goes into an image. Two equal ones, for one source and one CA
// bundle, make images of one digest.
type config struct {
	out       string // folder of the layout
	version   string
	revision  string // empty: not said
	source    string // empty: not said
	tag       string
	module    string // folder of the module millrace
	bundle    string // CA certificates; empty: look for the machine's
	platforms []v1.Platform
	time      time.Time // of everything in the image
}

func parsePlatforms(list string) ([]v1.Platform, error) {
	var platforms []v1.Platform
	for each := range strings.SplitSeq(list, ",") {
		p, err := v1.ParsePlatform(each)
		if err != nil {
			return nil, fmt.Errorf("platform %q: %w", each, err)
		}
		if p.OS != "linux" || p.Architecture == "" {
			return nil, fmt.Errorf("platform %q: must be linux/ARCHITECTURE, since the entrypoint needs Linux", each)
		}
		platforms = append(platforms, *p)
	}
	return platforms, nil
}

// sourceDate reads SOURCE_DATE_EPOCH, the way in which reproducible-builds.org
// has the time of a build handed in: seconds since 1970.
func sourceDate(seconds string) (time.Time, error) {
	if seconds == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	return time.Unix(n, 0).UTC(), nil
}
