package reflector

import "time"

// State is what a Reflector is doing right now.
type State uint8

const (
	// Stopped: Run has not been called yet, or has returned.
	Stopped State = iota
	// WatchListing: one watch request streams the present objects first; the
	// bookmark that ends them has not come yet (KEP-3157).
	WatchListing
	// Listing: the present objects are read page by page.
	Listing
	// Watching: the sink has everything up to a resourceVersion, and changes
	// are passed on as they come.
	Watching
	// BackingOff: the last exchange failed; nothing is asked until a delay is
	// over.
	BackingOff
	// Suspended: the server says that the resource does not exist (its CRD was
	// removed, or is not there yet). It is looked for again at the pace of the
	// backoff.
	Suspended
	// Probing: the server is asked for one object, to see whether it selects by
	// shard. Only with Config.ShardSelector, and once.
	Probing
)

// String gives the state's name as logs, traces and debug pages show it.
func (s State) String() string {
	switch s {
	case WatchListing:
		return "watch-listing"
	case Listing:
		return "listing"
	case Watching:
		return "watching"
	case BackingOff:
		return "backing-off"
	case Suspended:
		return "suspended"
	case Probing:
		return "probing"
	default:
		return "stopped"
	}
}

// RelistCause says why a list was made.
type RelistCause string

const (
	// CauseStart: the first list of a Run.
	CauseStart RelistCause = "start"
	// CauseExpired: the server has forgotten the resourceVersion that a watch
	// was to go on from (410).
	CauseExpired RelistCause = "expired"
	// CauseRewound: the server's resourceVersions went back, or ours is ahead
	// of it, as after the restore of a backup.
	CauseRewound RelistCause = "rewound"
	// CauseSilent: a watch was accepted and said nothing until it was cut,
	// though this server is known to send bookmarks; or several did.
	CauseSilent RelistCause = "silent"
	// CauseGap: an object could not be read, or the sink refused it, and only a
	// list can bring it: it has no key, or quarantine has no room or no success.
	CauseGap RelistCause = "gap"
	// CauseStuck: watches from one resourceVersion failed again and again.
	CauseStuck RelistCause = "stuck"
	// CauseMissing: the resource was gone for a while.
	CauseMissing RelistCause = "missing"
	// CauseRejected: the server refused the watch request itself.
	CauseRejected RelistCause = "rejected"
)

const (
	// stuckAfter watches that opened and failed from one resourceVersion, the
	// next thing to try is a list: an object of the past that the server cannot
	// decode fails every watch that passes over it, and no list. With the
	// delays between them, five take about half a minute.
	stuckAfter = 5

	// muteAfter watches in a row that were accepted and said nothing until they
	// were cut, the next thing to try is a list, at a server that was never
	// seen to send bookmarks; one is enough where it was. A watch from a
	// resourceVersion of the server's future, as after a restore, is accepted
	// and stays mute until its numbers have caught up.
	muteAfter = 3

	// reprobeAfter is how long a server that could not serve a watch-list is
	// asked for pages instead. A server gains the feature by an upgrade, which
	// cuts the watch and so leads here; half an hour keeps one odd answer from
	// costing much.
	reprobeAfter = 30 * time.Minute
)

// position is all that is remembered between two exchanges with the server.
// It is a value: an exchange is told a position and reports an outcome, and
// the after… functions, which do no I/O and read no clock, make the next
// position of the two.
type position struct {
	state State
	// resume is where a pause leads; meaningful in BackingOff and Suspended.
	resume State

	// rv is the resourceVersion up to which the sink has been told everything;
	// empty before the first list.
	rv string
	// floor is the oldest state that the next list may show; empty asks for
	// the newest there is, which the server confirms with its quorum.
	floor string
	// whole asks for the next list in one piece: a continuation expired.
	whole bool
	// cause is why the next list is made.
	cause RelistCause

	// pagesOnly: watch-lists are never tried; pagesUntil is until when they
	// are not, because one has failed.
	pagesOnly  bool
	pagesUntil time.Time
	// probe: whether this server selects by shard is still to be found out;
	// sharded is what was found.
	probe, sharded bool
	// spellings is how many ways of asking for a format are left, should the
	// server accept none of this one (406).
	spellings int
	// suspect: the last request ended in silence, so its connection may be dead.
	suspect bool
	// bookmarked: this server has been seen to send bookmarks.
	bookmarked bool
	// gap: the sink lacks something that only a list can bring; gaps counts lists
	// that were made for that, since a watch was last without.
	gap  bool
	gaps int
	// fresh: no watch since the last list has been well.
	fresh bool

	// failures counts failed exchanges since the last sign of health; it
	// decides the next delay.
	failures int
	// stuck counts watches from this rv that opened and failed, mute those that
	// opened and said nothing.
	stuck, mute int
	// retryAfter is what the server asked us to wait.
	retryAfter time.Duration
	// outage: the pause is one because the server did not answer; woken is when
	// such a pause was last cut short.
	outage bool
	woken  time.Time
	// err is what is wrong, nil when nothing is; failedIn is where it happened.
	err      error
	failedIn State

	// stream is an open watch that a watch-list leaves to watching. Whoever
	// takes it out closes it.
	stream *stream
}

// outcome is what one exchange came to.
type outcome struct {
	end ending
	err error
	// retryAfter is what the server asked for, zero if nothing.
	retryAfter time.Duration
	// now is when the exchange ended.
	now time.Time

	// rv is the resourceVersion reached.
	rv string
	// opened: the server accepted the request and began to answer.
	opened bool
	// heard: at least one event came, bookmarks included.
	heard bool
	// progress: an event moved the resourceVersion on.
	progress bool
	// healthy: the stream lasted long enough to be called well.
	healthy bool
	// bookmarked: a bookmark came.
	bookmarked bool
	// sharded: the answer was one shard's.
	sharded bool
	// gap: the sink lacks something that only a list can bring: what could not be
	// read had no key, or quarantine has no room or no success.
	gap bool
	// pages counts complete pages of a list.
	pages int
	// woken is when a pause was cut short; zero if it was not.
	woken time.Time
	// stream is left open for watching; only with end == complete.
	stream *stream
}

// start is where a Run begins: with a consistent read. A list at
// resourceVersion 0 would be cheaper, but a lagging API server could show a
// state older than one this program has already acted on (issue 59848 of
// kubernetes).
func start(c Config) position {
	p := position{cause: CauseStart, pagesOnly: c.PagedListOnly, probe: c.ShardSelector != "", spellings: len(c.spellings()) - 1}
	return p.to(p.lister(time.Time{}))
}

// lister is the way of listing that the server is believed to have, after what
// must be known before a list.
func (p position) lister(now time.Time) State {
	switch {
	case p.probe:
		return Probing
	case p.pagesOnly, now.Before(p.pagesUntil):
		return Listing
	}
	return WatchListing
}

// after takes in how an exchange ended: the whole machine.
func (p position) after(o outcome) position {
	pausing := p.state == BackingOff || p.state == Suspended
	p.suspect = o.end == silent || p.suspect && pausing
	if o.end == unacceptable {
		if p.spellings > 0 && !o.opened { // nothing has come that must not be forgotten
			p.spellings--
			p.err = o.err
			return p.to(p.state)
		}
		o.end = rejected
	}
	switch p.state {
	case Probing:
		return p.afterProbe(o)
	case WatchListing:
		return p.afterWatchList(o)
	case Listing:
		return p.afterList(o)
	case Watching:
		return p.afterWatch(o)
	default: // BackingOff, Suspended
		return p.afterWait(o)
	}
}

// afterProbe knows whether the server selects by shard. One that rejects the
// question does not.
func (p position) afterProbe(o outcome) position {
	if o.end != complete && o.end != rejected {
		return p.afterFailedList(o)
	}
	p.probe, p.sharded = false, o.sharded
	return p.to(p.lister(o.now))
}

// afterList takes in how a paged list ended.
func (p position) afterList(o outcome) position {
	switch {
	case o.end == complete:
		return p.committed(o)
	case o.end == expired && o.pages > 0 && !p.whole:
		// The list took longer than the server keeps history. One piece has no
		// continuation to expire.
		p.whole = true
		return p.to(Listing)
	}
	return p.afterFailedList(o)
}

// afterWatchList takes in how a watch-list ended.
func (p position) afterWatchList(o outcome) position {
	switch o.end {
	case complete:
		return p.committed(o)
	case rejected:
		return p.pagesInstead(o.now).to(Listing)
	case closed, silent, malformed:
		// No bookmark came. client-go asked again at once, 230,226 times in a
		// second (issue 140890 of kubernetes); a list can do without it. It is a
		// failure all the same: if the watch after the list closes as early, the
		// server has had its three requests of this second.
		p.failures++
		p.err = o.err
		return p.pagesInstead(o.now).to(Listing)
	case unreachable, unavailable:
		if o.opened {
			p = p.pagesInstead(o.now)
		}
		return p.afterFailedList(o)
	default:
		return p.afterFailedList(o)
	}
}

// afterFailedList is what both ways of listing do about the same troubles.
func (p position) afterFailedList(o outcome) position {
	lister := p.lister(o.now)
	switch {
	case o.end == stopped:
		return p
	case o.end == missing:
		return p.suspend(o)
	case p.floor != "" && (o.end == expired || o.end == tooLarge):
		// Whoever has no state at or after the floor has a newest state still.
		p.floor = ""
		return p.to(lister)
	default:
		return p.backOff(lister, o)
	}
}

// afterWatch takes in how a watch ended.
func (p position) afterWatch(o outcome) position {
	p.rv = o.rv
	p.gap = p.gap || o.gap
	if !p.gap {
		p.gaps = 0
	}
	p.bookmarked = p.bookmarked || o.bookmarked
	p.fresh = p.fresh && !o.healthy
	if o.heard {
		p.mute = 0
	}
	if o.healthy || o.progress {
		p.failures, p.stuck = 0, 0
	}
	switch o.end {
	case stopped:
		return p
	case closed, unreachable:
		return p.afterCut(o)
	case silent:
		return p.afterSilence(o)
	case expired:
		return p.afterExpiry(o)
	case tooLarge, rewound:
		return p.relist(CauseRewound, "", o)
	case missing:
		p.cause, p.floor = CauseMissing, ""
		return p.suspend(o)
	case rejected:
		return p.relist(CauseRejected, p.rv, o)
	case malformed, unavailable:
		return p.afterFault(o)
	default:
		return p.backOff(Watching, o)
	}
}

// afterCut goes on from the last resourceVersion; at once if the watch had
// been well, so that the ordinary end every few minutes costs no news.
func (p position) afterCut(o outcome) position {
	switch {
	case p.gap && o.opened:
		p.gaps++
		return p.relist(CauseGap, p.rv, o)
	case o.healthy:
		p.err = nil
		return p.to(Watching)
	}
	return p.backOff(Watching, o)
}

// afterSilence tells a watch whose peer has vanished from one that will never
// say anything.
func (p position) afterSilence(o outcome) position {
	if !o.opened || o.heard {
		return p.afterCut(o)
	}
	p.mute++
	if p.bookmarked || p.mute >= muteAfter {
		return p.relist(CauseSilent, p.rv, o)
	}
	return p.afterCut(o)
}

// afterExpiry lists again. If the list's own resourceVersion was forgotten
// before a watch could begin there, the list was too slow for the server's
// memory: the next one asks for the newest state in one piece (issue 102718 of
// kubernetes).
func (p position) afterExpiry(o outcome) position {
	floor := p.rv
	if p.fresh && !o.opened {
		p.whole, floor = true, ""
	}
	return p.relist(CauseExpired, floor, o)
}

// afterFault tries the same watch again, though not for ever.
func (p position) afterFault(o outcome) position {
	if o.opened {
		p.stuck++
	}
	if p.stuck >= stuckAfter {
		return p.relist(CauseStuck, p.rv, o)
	}
	return p.backOff(Watching, o)
}

// afterWait goes where the pause led.
func (p position) afterWait(o outcome) position {
	if o.end == stopped {
		return p
	}
	if !o.woken.IsZero() {
		p.woken = o.woken
	}
	return p.to(p.resume)
}

// committed goes on to watch what a list ended with. It does not reset the
// backoff: a list that works and a watch that never does would be a hot loop.
func (p position) committed(o outcome) position {
	p.rv, p.floor, p.whole, p.cause = o.rv, "", false, ""
	p.gap, p.fresh, p.stuck, p.err = o.gap, true, 0, nil
	p.bookmarked = p.bookmarked || o.bookmarked
	p.stream = o.stream
	return p.to(Watching)
}

// relist lists again; at once, if a watch has been well since the last list, so
// that no two lists follow each other without a pause. One event is no proof of
// health here: a server that gives one and then fails would be listed as fast as
// it can answer. And a server in trouble is left in peace first, unless it has
// said itself that only a list will do: after a long outage it has forgotten
// where everybody was, and another pause would help nobody.
func (p position) relist(cause RelistCause, floor string, o outcome) position {
	p.cause, p.floor, p.stuck, p.mute = cause, floor, 0, 0
	saidSo := o.end == expired || o.end == tooLarge || o.end == rewound
	if !p.fresh && (p.failures == 0 || saidSo) {
		p.err = o.err
		return p.to(p.lister(o.now))
	}
	return p.backOff(p.lister(o.now), o)
}

func (p position) backOff(resume State, o outcome) position {
	return p.pause(BackingOff, resume, o)
}

func (p position) suspend(o outcome) position {
	return p.pause(Suspended, p.lister(o.now), o)
}

func (p position) pause(in, resume State, o outcome) position {
	p.failures++
	p.failedIn = p.state
	p.resume, p.retryAfter, p.err = resume, o.retryAfter, o.err
	p.outage = (o.end == unreachable || o.end == unavailable) && o.retryAfter == 0
	return p.to(in)
}

// pagesInstead leaves watch-lists alone for a while.
func (p position) pagesInstead(now time.Time) position {
	p.pagesUntil = now.Add(reprobeAfter)
	return p
}

func (p position) to(s State) position {
	p.state = s
	return p
}
