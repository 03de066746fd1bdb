package objects

import (
	"math/rand/v2"
	"strings"
	"time"
)

const (
	digits = "0123456789"
	hex    = "0123456789abcdef"
	// suffixes is what the API server makes the ends of generated names of: no
	// vowels, so that it makes no words.
	suffixes = "bcdfghjklmnpqrstvwxz2456789"
	// few is how many images, namespaces or nodes stand in the place of one.
	few = 16
)

// dictionary is words by their length, to be put in the place of others.
//
//nolint:gochecknoglobals // A constant, had Go constants of that type.
var dictionary = byLength(`
	access action agency amount animal answer artist aspect author avenue battle beauty belief border bottle branch
	bridge budget button camera cancer career castle center change charge choice church circle client coffee column
	corner county couple course create credit crisis custom damage danger dealer debate decade degree demand design
	detail device dinner doctor driver editor effect effort energy engine estate expert export factor family farmer
	father figure finger flight forest format friend future garden gender ground growth guitar health height island
	journal kitchen leather library machine manager measure medical meeting memory message mission mixture monitor
	network october officer opinion package partner patient pattern payment penalty pension picture portion project
	quality quarter reality receipt regular release request reserve respect session shelter society station storage
	student subject success support surface surgery teacher theater tension traffic trouble variety vehicle version
	village weather weekend welcome western writing absolute activity addition approach argument attitude audience
	baseball birthday bookcase building business calendar campaign capacity category chemical children composer
	computer concrete consumer contract cupboard customer darkness database daughter delivery designer director
	disaster discount disorder distance distrust division document economic election elephant emphasis employee
	engineer entrance envelope estimate evidence exchange exercise exposure facility feedback festival football
	fragment frequent function generate graphics guidance hardware heritage highland historic homework hospital
	identity incident increase industry instance interest interval invasion keyboard language location magazine
	majority marriage material medicine military moderate momentum motorway mountain movement multiple national
	negative northern notebook novelist observer official operator opponent opposite ordinary original overcome
	painting parallel passport patience peaceful personal physical platform pleasure politics position positive
	possible practice precious pregnant presence pressure prisoner probably producer progress property proposal
	prospect protocol province purchase question railways reaction recovery register relation relative religion
	reporter republic research resource response romantic sandwich scenario schedule security sentence sequence
	shipping shoulder software solution southern specific standard straight strategy strength struggle suburban
	sunshine superior surprise swimming symbolic sympathy taxation teaching teenager terminal thinking thousand
	together tomorrow training transfer treasure treaties tropical universe upstairs vacation validity velocity
	vertical violence volatile warranty weakness whatever windmill workshop yourself adventure afternoon agreement
	apartment assistant attention authority available awareness beginning breakfast carefully celebrate challenge
	character chocolate classroom committee community complaint component condition confident confusion container
	corporate criticism dangerous democracy departure desperate detective different difficult dimension direction
	discovery education efficient elsewhere emergency emotional encounter equipment essential establish evolution
	existence expansion expensive extension financial framework frequency furniture gathering happiness hierarchy
	highlight important inclusion influence infection inflation initially institute insurance intention interface
	interview invention landscape lifestyle limousine magnitude marketing mechanism messenger narrative naturally
	necessary newspaper objective operation orchestra ownership painfully parameter passenger performer permanent
	personnel president principle procedure professor programme promising prominent protected provision published
	qualified recession reduction reference reluctant residence resources sculpture secretary selection sensation
	sensitive signature similarly situation something sometimes southeast specialty spiritual spokesman statement
	statistic strategic structure submarine substance suffering supporter technical technique telephone temporary
	territory testimony therefore transform transport treatment undertake universal variation vegetable violation
	voluntary volunteer warehouse wednesday wonderful yesterday`)

func byLength(text string) map[int][]string {
	lengths := map[int][]string{}
	for word := range strings.FieldsSeq(text) {
		for n := 6; n <= len(word); n++ {
			lengths[n] = append(lengths[n], word[:n])
		}
	}
	return lengths
}

// chance is what decides about one run.
type chance struct {
	*rand.Rand
	run   int
	name  uint64        // of the words in its name
	shift time.Duration // of all its times
}

// another is a text of the same length that may stand in place of v.
func (v value) another(r chance) string {
	switch v.kind {
	case base:
		return r.base(v.text)
	case name:
		n := min(suffixLen, len(v.text)-1)
		return r.base(v.text[:len(v.text)-n]) + suffix(r.run)[suffixLen-n:]
	case uid:
		return uuid(v.text, r)
	case hash:
		if strings.HasPrefix(v.text, "kube-api-access-") {
			return v.text[:16] + pick(suffixes, len(v.text)-16, r)
		}
		return pick(hex, len(v.text), r)
	case digest:
		return pick(hex, len(v.text), oneOf(v.text, r))
	case instant:
		return later(v.text, r)
	case address:
		return "10" + octets(v.text[2:], r)
	case place:
		from := oneOf(v.text, r)
		return word(v.text[:len(v.text)-2], from) + pick(digits, 2, from)
	case version:
		return v.text // whoever asks for the object says which
	default:
		return word(v.text, r)
	}
}

// oneOf makes a source of chance that is one of a few for a text.
func oneOf(text string, r chance) chance {
	var sum uint64
	for _, c := range []byte(text) {
		sum = sum*31 + uint64(c)
	}
	r.Rand = rand.New(rand.NewPCG(sum, r.Uint64N(few)))
	return r
}

// base is the same for a text wherever it is asked for.
func (r chance) base(text string) string {
	r.Rand = rand.New(rand.NewPCG(r.name, uint64(len(text))))
	return word(text, r)
}

const suffixLen = 5

// suffix is the end of the name of run i, which no other run has.
func suffix(i int) string {
	const turns = 27 * 27 * 27 * 27 * 27
	at := i * 9_176_263 % turns // it has no factor in common with turns, so all of them come
	end := make([]byte, suffixLen)
	for j := range end {
		end[suffixLen-1-j] = suffixes[at%27]
		at /= 27
	}
	return string(end)
}

// word puts other words in place of those in a text, digits in place of digits,
// and leaves what is between them.
func word(text string, r chance) string {
	b := []byte(text)
	for from := 0; from < len(b); {
		to := from
		for to < len(b) && isLetter(b[to]) {
			to++
		}
		if to == from {
			if isDigit(b[from]) && b[from] != '0' {
				b[from] = digits[1+r.IntN(9)]
			}
			from++
			continue
		}
		replace(b[from:to], r)
		from = to
	}
	return string(b)
}

// replace puts words in the place of letters, and keeps capitals where they are.
func replace(b []byte, r chance) {
	const shortest, longest = 6, 9
	for len(b) > 0 {
		n := max(shortest, min(len(b), longest))
		with := dictionary[n][r.IntN(len(dictionary[n]))]
		for i := range min(n, len(b)) {
			c := with[i]
			if b[i] < 'a' {
				c -= 'a' - 'A'
			}
			b[i] = c
		}
		b = b[min(n, len(b)):]
	}
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// pick is a text of n characters.
func pick(of string, n int, r chance) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = of[r.IntN(len(of))]
	}
	return string(b)
}

func uuid(text string, r chance) string {
	b := []byte(text)
	for i, c := range b {
		if c != '-' {
			b[i] = hex[r.IntN(len(hex))]
		}
	}
	return string(b)
}

// octets picks digits again so that each part of an address stays one.
func octets(text string, r chance) string {
	b := []byte(text)
	for i := 0; i < len(b); {
		n := 0
		for i+n < len(b) && isDigit(b[i+n]) {
			n++
		}
		switch n {
		case 0:
			n = 1
		case 3:
			b[i], b[i+1], b[i+2] = '1', digits[r.IntN(10)], digits[r.IntN(10)]
		default:
			for j := range n {
				b[i+j] = digits[1+r.IntN(9)]
			}
		}
		i += n
	}
	return string(b)
}

// later moves a time. Fractions of a second are chance.
func later(text string, r chance) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	moved := at.Add(r.shift).Format("2006-01-02T15:04:05")
	if n := len(text) - len(moved) - len(".Z"); n > 0 {
		moved += "." + pick(digits, n, r)
	}
	return moved + "Z"
}
