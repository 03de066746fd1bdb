// Package server is an API server of one resource that costs next to nothing: all
// that it says is encoded before it is asked, and it runs in a process of its
// own, so that the CPU time of this process is the client's alone.
//
//	this process                          its child
//	a chain of ours, or client-go's ──HTTP/2, TLS──▶ LIST, watch-list, WATCH: bytes that are there already
//	Server.Begin, Expire, Count ─────POST──────▶ now the events; now forget all watches
//
// The same bytes go to both sides, over loopback, as a cluster has it: HTTP/2 and
// TLS; without compression. Or over HTTP/1.1, without TLS.
//
// What it promises:
//
//  1. A watch-list, a list in pages, and a list in one answer show the same
//     objects, in both formats. (TestAllWaysToListShowTheSame)
//  2. The events come after Begin, to every watch that is open then, and end
//     with the resourceVersion that Last tells. (TestEventsComeWhenTheyAreAskedFor)
//  3. After Expire every watch has ended with a 410, and the next list shows the
//     same objects at the same resourceVersions. (TestExpireEndsAWatchAndChangesNothing)
//
// A program that uses it calls Main first: the child is the same program.
package server
