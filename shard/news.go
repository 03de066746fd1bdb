package shard

// news is what was said last, so that a log which is looked at every second or so tells
// of changes only. The zero value has said nothing. It is for one goroutine.
type news struct{ last string }

// is tells whether the text is to be said: not if it was the last one. An empty one never
// is, and has the next one said, whatever it is.
func (n *news) is(text string) bool {
	was := n.last
	n.last = text
	return text != "" && text != was
}
