package indexer

// members is the places under one value of an index, in the order of their
// keys; never none of them. One alone, as under the UID of an object or of an
// owner that has one, stands in the map itself and costs nothing more.
type members struct {
	one  place
	many *ordered // nil while there is but one
}

// with is the members and p.
func (m members) with(p place, s *cells) members {
	if m.many == nil {
		if m.one == p {
			return m
		}
		m.many = &ordered{}
		m.many.add(m.one, s)
	}
	m.many.add(p, s)
	return m
}

// without is the members but p, and whether any are left.
func (m members) without(p place, s *cells) (members, bool) {
	if m.many == nil {
		return m, m.one != p
	}
	m.many.drop(p, s)
	if m.many.n == 1 {
		return members{one: m.many.runs[0].places[0]}, true
	}
	return m, true
}

func (m members) renumber(to []place, moments uint64) members {
	if m.many == nil {
		return members{one: to[m.one]}
	}
	m.many.renumber(to, moments)
	return m
}
