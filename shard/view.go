package shard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// Names of the Leases, and what is written on them.
const (
	// DivisionLease carries the division; its holder is who has divided last.
	DivisionLease = "millrace-shards"
	leasePrefix   = "millrace-shard-" // and the shard's number

	onDivision = "millrace/division"
	onClaim    = "millrace/claim"   // the range that the holder may be at work on
	onWeights  = "millrace/weights" // a range, a space, and its cells

	// Selector finds all of them.
	Selector = "app.kubernetes.io/component=sharding,app.kubernetes.io/part-of=millrace"
)

func leaseName(shard int) string { return leasePrefix + strconv.Itoa(shard) }

func shardOf(name string) (shard int, ok bool) {
	number, ok := strings.CutPrefix(name, leasePrefix)
	if !ok {
		return 0, false
	}
	shard, err := strconv.Atoi(number)
	return shard, err == nil && shard >= 0 && shard < Most && leaseName(shard) == name
}

// A view is what all Leases said at one moment.
type view struct {
	division Division
	lease    *coordinationv1.Lease // with the division; nil if there is none yet
	slots    []slot                // one for each shard, by number
}

// A slot is a shard's Lease.
type slot struct {
	lease  *coordinationv1.Lease // nil: there is none yet
	holder string                // "" for nobody; who has gone silent is nobody
	silent bool                  // somebody held it and has gone silent
	since  time.Time             // as long as this process knows, nobody or somebody has held it
	claim  *Range                // of the holder; nil if it is at work on nothing
	weighs Range                 // what the cells are of
	cells  []Cell                // of a share with nothing in it there are none
	told   bool                  // it was weighed
}

// members are the shards that have a holder.
func (v view) members() (all []int) {
	for i, s := range v.slots {
		if s.holder != "" {
			all = append(all, i)
		}
	}
	return all
}

// obstacle is why nobody else may be at work on a range: who claims a part of it. ""
// if nobody does.
func (v view) obstacle(mine int, r Range) string {
	for i, s := range v.slots {
		if i != mine && s.claim != nil && s.claim.Overlaps(r) {
			return fmt.Sprintf("%s, which %s holds, claims %v", leaseName(i), s.holder, *s.claim)
		}
	}
	return ""
}

// idle tells whether nobody claims anything: as while a leader works on all of it.
func (v view) idle() bool { return v.obstacle(-1, Range{}) == "" }

// whole tells whether everything is claimed as it was divided last.
func (v view) whole() bool {
	for i, s := range v.slots {
		want, has := v.division.Of(i)
		if has != (s.claim != nil) || has && *s.claim != want {
			return false
		}
	}
	return true
}

// settled tells whether everything is at work as it was divided last, and weighed. While
// a part of it changes hands, nobody tells what that part weighs: to divide by the rest
// would give it back to whom it comes from, once a second.
func (v view) settled() bool {
	return v.whole() && !slices.ContainsFunc(v.slots, func(s slot) bool { return s.claim != nil && !s.knows() })
}

// knows tells whether the cells are of what is claimed.
func (s slot) knows() bool { return s.told && s.claim != nil && s.weighs == *s.claim }

// cells are what is known of the weights of everything: of what somebody works on,
// what he tells; of the rest, what was told last.
func (v view) cells() []Cell {
	var told []Cell
	for _, s := range v.slots {
		if s.knows() {
			told = append(told, s.cells...)
		}
	}
	for _, s := range v.slots {
		if s.knows() {
			continue
		}
		for _, c := range s.cells {
			if !slices.ContainsFunc(v.slots, func(o slot) bool { return o.knows() && o.claim.Holds(c.From) }) {
				told = append(told, c)
			}
		}
	}
	return fill(told)
}

// divide is another division, if one is due: when a replica has come or gone for so
// long that it is not just being replaced, or the shares have become very unlike.
func (v view) divide(settled time.Duration) (Division, bool) {
	members := v.members()
	next := Divide(v.division, members, v.cells())
	switch {
	case len(members) == 0:
		return Division{}, false
	case len(v.division.Shares) == 0:
		return next, true
	}
	lone, late := false, false
	for i, s := range v.slots {
		_, has := v.division.Of(i)
		if has == (s.holder != "") {
			continue
		}
		// Who has gone silent has been waited for already.
		lone = lone || has && (s.silent || time.Since(s.since) >= settled)
		late = late || !has && time.Since(s.since) >= settled
	}
	if lone {
		return next, true
	}
	if v.idle() {
		return next, late // nothing moves by it
	}
	if !v.settled() {
		return Division{}, false
	}
	return next, late || len(members) == len(v.division.Shares) && lopsided(v.division, next, v.cells())
}
