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
	value, ok := lookup(o.raw, Path{"metadata", "annotations", key})
	if !ok || len(value) < 2 || value[0] != '"' {
		return ""
	}
	return string(unquoted(value))
}
