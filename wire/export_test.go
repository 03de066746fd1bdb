package wire

// ChangedCanonically is Changed as it would be without the walk in lockstep.
func ChangedCanonically(a, b *Object, except ...Path) bool {
	return canonicallyDiffer(a.raw, b.raw, except)
}

// ChangedInLockstep is what the walk in lockstep says, and whether it says
// anything.
func ChangedInLockstep(a, b *Object, except ...Path) (changed, sure bool) {
	found := alike(a.raw, b.raw, except)
	return found == different, found != unsure
}
