package server

import "millrace/wire"

// Frames is what a watch-list of a spec says, in one piece each: the initial
// objects with the bookmark that ends them, and then the events. It is for
// benchmarks that leave the network out.
func (s Spec) Frames(f wire.Format) (initial, events []byte, err error) {
	run, err := s.maker()
	if err != nil {
		return nil, nil, err
	}
	e := s.encode(run, f)
	for _, frame := range e.initial {
		initial = append(initial, frame...)
	}
	for _, frame := range e.events {
		events = append(events, frame...)
	}
	return initial, events, nil
}
