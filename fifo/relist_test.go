package fifo_test

import (
	"testing"

	"millrace/fifo"
)

func TestARelistOfNothingNewSaysNothing(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"), obj(t, "b", "u2", "2"))
	r.do("begin =a/u1@1 =b/u2@2 commit@9")
	r.expect("Bookmark →9")
}

// Upstream: TestDeltaFIFO_ReplaceMakesDeletions, …Replaced.
func TestARelistFindsWhatIsNewWhatHasChangedAndWhatIsGone(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"), obj(t, "b", "u2", "2"), obj(t, "d", "u4", "2"), obj(t, "c", "u3", "2"))
	r.do("begin =new/u9@8 =b/u2@7 =a/u1@1 commit@9")
	r.expect("new Added u9@8 →1", "b Updated u2@7 →1", "c Deleted u3 unseen →1", "d Deleted u4 unseen →9")
}

// Upstream: TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue, issue
// 115658 of kubernetes.
func TestWhatOnlyWaitsAndIsGoneIsToldToo(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("+a/u1@1 ~a/u1@2 begin commit@3")
	r.expect("a Deleted u1@2+2 unseen →3")
}

// Upstream: TestDeltaFIFO_replaceWithDeleteDeltaIn.
func TestAListThatLacksWhatIsDeletedAlreadyAddsNothing(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"))
	r.do("-a/u1@2 begin commit@3")
	r.expect("a Deleted u1@2 →3")
}

// Issue 141255 of kubernetes: the old life's end was folded into an update.
func TestAnotherUIDUnderTheNameIsAnEndAndABeginning(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"))
	r.do("begin =a/u2@5 commit@6")
	r.expect("a Deleted u1 unseen Added u2@5 →6")
}

func TestAnAbortedListDeletesNothing(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"), obj(t, "b", "u2", "2"))
	r.do("begin =a/u1@7 abort")
	r.expect("a Updated u1@7 →1")
	r.do("~a/u1@8") // and the stream goes on
	r.expect("a Updated u1@8 →8")
	r.do("begin =b/u2@2 commit@9")
	r.expect("a Deleted u1 unseen →9")
}

// Claim 11.
func TestAnObjectThatAListShowsButThatCannotBeReadIsNotDeletedByIt(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"), obj(t, "b", "u2", "1"), obj(t, "c", "u3", "1"))
	r.do("~b/u2@2 +w/u4@3") // b and w wait
	r.do("begin ?a ?b ?w ?unheard-of commit@9")
	r.expect("b Updated u2@2 →2", "w Added u4@3 →3", "c Deleted u3 unseen →9")
	// It speaks for one list only, and for none if there is none.
	r.do("begin ?a abort ?a begin =b/u2@2 ?w commit@10")
	r.expect("a Deleted u1 unseen →10")
	// The deletion comes in the same stream, after the object that was there.
	r.do("begin ?b -b/u2@11 ?w commit@12")
	r.expect("b Deleted u2@11 →12")
}

// Claim 11, for one that the consumer has in hand and not in its store.
func TestAnUnreadableObjectInProcessIsNotDeletedEither(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("+a/u1@1")
	err := r.Pop(t.Context(), func(e fifo.Entry) error {
		r.do("begin ?a commit@2")
		return r.store.take(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.expect("Bookmark →2")
}

// A streaming list shares its connection with what happens meanwhile.
func TestChangesDuringAListCountAsPartOfIt(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"), obj(t, "b", "u2", "2"))
	r.do("begin =a/u1@1 =b/u2@2 +c/u3@5 -a/u1@6 ~b/u2@7 commit@7")
	r.expect("c Added u3@5 →1", "a Deleted u1@6 →1", "b Updated u2@7 →7")
	r.do("begin +a/u4@8 =b/u2@7 =c/u3@5 -b/u2@9 commit@9")
	r.expect("a Added u4@8 →7", "b Deleted u2@9 →9")
}

func TestSyncedIsTheFirstListPoppedAndProcessed(t *testing.T) {
	r := newRig(t, fifo.Config{})
	step := func(do string, want bool) {
		t.Helper()
		r.do(do)
		if r.synced() != want {
			t.Errorf("after %s: synced %v", do, r.synced())
		}
	}
	step("begin =a/u1@1 =b/u2@2", false)
	r.expect("a Added u1@1 initial →", "b Added u2@2 initial →")
	step("=c/u3@3", false)
	step("commit@4", false)
	step("+d/u4@5", false) // behind the list: it does not count
	popOne(r)
	step("", true)
	r.expect("d Added u4@5 →5")
}

// popOne pops one entry.
func popOne(r *rig) {
	r.t.Helper()
	if err := r.Pop(r.t.Context(), r.store.take); err != nil {
		r.t.Fatal(err)
	}
}

func TestAnEmptyFirstListSyncsWhenItsEndIsPopped(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("begin commit@4")
	if r.synced() {
		t.Error("synced before the consumer knows")
	}
	r.expect("Bookmark →4")
	if !r.synced() {
		t.Error("not synced")
	}
}

func TestNeitherEventsNorAnAbortedListSync(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("+a/u1@1 begin =b/u2@2 abort bookmark@3")
	r.pop()
	if r.synced() {
		t.Error("synced without a list")
	}
	r.do("begin =a/u1@1 =b/u2@2 =c/u3@5 commit@6")
	r.expect("c Added u3@5 initial →6")
	if !r.synced() {
		t.Error("not synced")
	}
}

// Upstream: TestDeltaFIFO_HasSyncedCorrectOnDeletion.
func TestTheFirstListSyncsThoughItsObjectsVanishMeanwhile(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("begin =a/u1@1 =b/u2@1 commit@2 begin commit@3")
	r.expect("a Deleted u1@1+1 unseen →", "b Deleted u2@1+1 unseen →3")
	if !r.synced() {
		t.Error("not synced")
	}
}

func TestAfterTheFirstListNothingIsInitial(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("begin =a/u1@1 commit@1")
	r.pop()
	r.do("begin =a/u1@2 =b/u2@2 commit@3")
	r.expect("a Updated u1@2 →1", "b Added u2@2 →3")
}

// Upstream: TestDeltaFIFO_Resync, _ResyncNonExisting, _UpdateResyncRace.
func TestAResyncRemindsOfWhatIsKnownAndHasNoNews(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "c", "u3", "1"), obj(t, "a", "u1", "1"), obj(t, "b", "u2", "1"), obj(t, "d", "u4", "1"))
	r.do("~b/u2@2 -d/u4@3 +new/u5@4 resync resync")
	r.expect("b Updated u2@2 →2", "d Deleted u4@3 →3", "new Added u5@4 →4", "a Sync u1 →4", "c Sync u3 →4")
}

func TestNewsTakesThePlaceOfAReminder(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"), obj(t, "b", "u2", "1"), obj(t, "c", "u3", "1"), obj(t, "d", "u4", "1"))
	r.do("resync ~a/u1@2 -b/u2@3 +c/u9@4")
	r.expect("a Updated u1@2 →1", "b Deleted u2@3 →1", "c Deleted u3 unseen Added u9@4 →1", "d Sync u4 →4")
}

func TestAResyncPassesOverWhatIsBeingProcessed(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"), obj(t, "b", "u2", "1"))
	r.do("~a/u1@2")
	err := r.Pop(t.Context(), func(e fifo.Entry) error {
		r.do("resync")
		return r.store.take(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.expect("b Sync u2 →2")
}
