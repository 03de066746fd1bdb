package wire

import "testing"

func TestPastPlainFindsTheFirstByteThatIsNotPlain(t *testing.T) {
	plain := func(c byte) bool { return c >= ' ' && c < 0x80 && c != '"' && c != '\\' }
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				data := make([]byte, length)
				for i := range data {
					data[i] = byte(' ' + 1 + i) // '!' comes first: next to a quote
					if !plain(data[i]) {
						data[i] = 'x'
					}
				}
				data[at] = byte(c)
				if at+1 < length {
					data[at+1] = '"' // a borrow must not reach down
				}
				want := at
				if plain(byte(c)) {
					want = min(at+1, length)
				}
				if got := pastPlain(data, 0); got != want {
					t.Fatalf("%q: %d, want %d", data, got, want)
				}
			}
		}
	}
}
