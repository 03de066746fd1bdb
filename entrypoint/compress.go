package main

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
)

// compressedPrefix marks a termination message that is compressed. It is Tekton's.
const compressedPrefix = "tknz:"

// compressed is a message in less bytes, if it has anything to be compressed in it.
func compressed(message []byte) []byte {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err == nil {
		_, err = w.Write(message)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // the level is legal, and a Buffer takes everything
	}
	return append([]byte(compressedPrefix), base64.StdEncoding.EncodeToString(b.Bytes())...)
}
