package wire

// lookup finds the value of one field in JSON that has been scanned before. Of
// a member that comes twice it finds the last one that leads there. It does not
// walk through lists.
func lookup(data []byte, p Path) (value []byte, ok bool) {
	l := lexer{data: data}
	if len(p) == 0 {
		return data, true
	}
	if l.peek() != '{' {
		return nil, false
	}
	for more := l.enter('{'); more; more = l.next('{') {
		here := string(l.bytes(l.key())) == p[0]
		inner := l.raw()
		if !here {
			continue
		}
		if v, found := lookup(inner, p[1:]); found {
			value, ok = v, true
		}
	}
	return value, ok
}

// annotation is the value of one annotation, or "".
func (o *Object) annotation(key string) string {
	if o.format == Protobuf {
		return o.protobufAnnotation(key)
	}
	value, ok := lookup(o.Bytes(), Path{"metadata", "annotations", key})
	if !ok || len(value) < 2 || value[0] != '"' {
		return ""
	}
	return string(unquoted(value))
}

func (o *Object) protobufAnnotation(key string) string {
	value := ""
	_, _, body := o.sealed()
	w := messageOf(body)
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		if n != metadataField {
			w.skip(k)
			continue
		}
		inner := w.inner(k)
		for n, k, ok := inner.next(); ok; n, k, ok = inner.next() {
			if n != annotationsField {
				inner.skip(k)
			} else if e := inner.entry(k); string(body[e.key.from:e.key.to]) == key {
				value = string(body[e.value.from:e.value.to])
			}
		}
	}
	return value
}
