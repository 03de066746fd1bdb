package wire

import "errors"

// magic stands before every protobuf object that comes alone, and in every
// watch event. Its last byte is the version of what follows: a runtime.Unknown,
// which says what the object is and has the object in it.
const magic = "k8s\x00"

var errMagic = errors.New("no magic number of Kubernetes protobuf at its beginning")

// The fields of runtime.Unknown, and of the TypeMeta in it. contentEncoding (3)
// and contentType (4) say nothing here, as they say nothing to the ordinary
// decoder.
const (
	typeMetaField = 1
	rawField      = 2

	apiVersionField = 1
	kindField       = 2
)

// envelope is what stands around an object: what it is, and where it is.
type envelope struct{ apiVersion, kind, body span }

// open takes the envelope apart that is all of w.
func open(w *message) envelope {
	var e envelope
	if w.end-w.pos <= len(magic) || string(w.data[w.pos:w.pos+len(magic)]) != magic {
		w.err = errMagic
		return e
	}
	w.pos += len(magic)
	e.body = span{from: w.end, to: w.end} // of an envelope without a body
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		switch n {
		case typeMetaField:
			inner := w.inner(k)
			e.typeMeta(&inner)
			w.err = inner.err
		case rawField:
			e.body = w.text(k)
		case 3, 4:
			w.text(k)
		default:
			w.skip(k)
		}
	}
	return e
}

func (e *envelope) typeMeta(w *message) {
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		switch n {
		case apiVersionField:
			e.apiVersion = w.text(k)
		case kindField:
			e.kind = w.text(k)
		default:
			w.skip(k)
		}
	}
}

// appendEnvelope appends the envelope of a body of that length, up to where the
// body has to follow. There is one way in which that is spelled, so a body has
// the same bytes whichever way it came: in an event, or bare in a list.
func appendEnvelope(b, apiVersion, kind []byte, body int) []byte {
	types := 2 + sizeOfVarint(uint64(len(apiVersion))) + len(apiVersion) + sizeOfVarint(uint64(len(kind))) + len(kind)
	b = append(b, magic...)
	b = appendVarint(appendTag(b, typeMetaField), uint64(types))
	b = appendBlock(appendTag(b, apiVersionField), apiVersion)
	b = appendBlock(appendTag(b, kindField), kind)
	return appendVarint(appendTag(b, rawField), uint64(body))
}

// appendTag is the tag of a block.
func appendTag(b []byte, number byte) []byte { return append(b, number<<3|byte(block)) }

func appendBlock(b, value []byte) []byte {
	return append(appendVarint(b, uint64(len(value))), value...)
}

// sealed is what an Object in protobuf is, and its body.
func (o *Object) sealed() (apiVersion, kind, body []byte) {
	if o.loan != nil {
		return o.loan.apiVersion, o.loan.kind, o.raw
	}
	w := messageOf(o.raw)
	e := open(&w)
	part := func(s span) []byte { return o.raw[s.from:s.to] }
	return part(e.apiVersion), part(e.kind), part(e.body)
}

// messageOf is the message that is all of data.
func messageOf(data []byte) message { return message{data: data, end: len(data)} }
