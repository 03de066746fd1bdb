package oracle

// exception is a difference that we mean. Where it applies, what the two sides
// say counts as equal. TestEveryExceptionIsNeeded asks for a story that needs it.
type exception string

const (
	// client-go calls OnUpdate for every object of every relist, changed or
	// not: 50,000 calls for nothing after a 410. Ours is silent.
	relistIsSilent exception = "a relist says nothing about what has not changed"

	// To client-go, an object that was deleted and made anew under its name
	// while nobody looked is an update of the old one; that crashed a scheduler
	// (issue 141255 of kubernetes). Ours are two changes: the end of the one, and
	// another beginning.
	newLifeIsNoUpdate exception = "another UID is no update"

	// Each side lists in its own moments: their pauses are random, and after
	// most troubles client-go lists again where ours watches on from where it
	// was. So one may be told as an event what the other has to work out from a
	// list: then it does not know the final state, takes for new what has
	// changed since it was made, and misses what came and went.
	ownMoments exception = "one has seen happen what the other has to work out"

	// While the store is busy, ours merges what waits for one object: of lives
	// that began and ended meanwhile, the first end is told, and the others
	// are counted. client-go keeps each event, without bound.
	mergedWhileWaiting exception = "what waits is merged"

	// Of an object that a transform refuses, client-go forgets the event, and
	// moves on past its resourceVersion; of one whose metadata make no sense it
	// keeps what it got where it decodes into maps. (Where it decodes into a Go
	// type, it lists everything again.) Ours keeps what it had, asks for that
	// one object again, and ends with what the server has.
	askedForAgain exception = "what could not be taken in is asked for again"

	// Objects that client-go decodes into Go types do not know what they are:
	// kind and apiVersion are taken out (issue 80609 of kubernetes). Ours are as
	// the server sent them.
	knowsWhatItIs exception = "an object knows its kind"
)

// known is what the servers know about the last change of an object.
type known struct {
	ours, theirs bool   // who was told it as an event
	untaken      string // its last version, if that could not be taken in, once
}

// excuse finds the exception that makes two different events equal.
func excuse(ours, theirs told, watched known) (exception, bool) {
	switch {
	case watched.untaken != "":
		end := ours.What == "deleted" && (theirs.What == "" || theirs.What == "deleted")
		return askedForAgain, end || ours.Version == watched.untaken || ours.What == "" && theirs.Version == watched.untaken
	case ours.Merged && ours.What == "deleted" && theirs.What == "deleted" && ours.UID != theirs.UID:
		return mergedWhileWaiting, true
	case watched.ours && !watched.theirs:
		return ownMoments, theirs.isGuessOf(ours)
	case watched.theirs && !watched.ours:
		return ownMoments, ours.isGuessOf(theirs)
	}
	return "", false
}

// seen is an end that somebody saw.
func (t told) seen() bool { return t.What == "deleted" && !t.Unknown }

// isGuessOf says that a list could have been taken for t where the events were
// those that ended with seen.
func (t told) isGuessOf(seen told) bool {
	switch {
	case seen.seen():
		return t.What == "" || t.What == "deleted" && (t.Unknown || t.UID != seen.UID)
	case seen.What == "updated":
		return t.What == "added" && t.UID == seen.UID && t.Version == seen.Version
	}
	return false
}
