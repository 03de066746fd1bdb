package wire

import "errors"

// Format is how an object is spelled on the wire. It is a property of one
// answer of the server, not of a resource: a server that was asked for protobuf
// may answer in JSON.
//
// CBOR (KEP-4222), which a server may speak for custom resources too, would be a
// third one. It needs a pass that fills meta, as object does for JSON and body
// for protobuf; the doors where frames end, EventReader.Next and List (a CBOR
// watch is a sequence of items without any mark between them); a Cut, a Changed
// and a Decode; and facets. Behind them nothing knows of formats.
type Format uint8

const (
	// JSON is application/json, and what the server speaks for custom
	// resources.
	JSON Format = iota + 1
	// Protobuf is application/vnd.kubernetes.protobuf, which the server speaks
	// for the kinds that are built into it. It is half as long as JSON, and most
	// of it need not be looked at.
	Protobuf
)

// ErrFormat says that the bytes are in a format that this package does not
// read.
var ErrFormat = errors.New("wire: format is not supported")

// String names the format as a metric or a log line should.
func (f Format) String() string {
	switch f {
	case JSON:
		return "json"
	case Protobuf:
		return "protobuf"
	default:
		return "unknown"
	}
}
