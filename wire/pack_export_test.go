package wire

// BlobLen is how much of a packed object is compressed.
func (p *Packed) BlobLen() int { return len(p.text) - p.afterVersion() }

// Damaged is p with a bit of its blob turned over.
func (p *Packed) Damaged(at int) *Packed {
	damaged := *p
	text := []byte(p.text)
	text[p.afterVersion()+at] ^= 1 << (at % 8)
	damaged.text = string(text)
	return &damaged
}
