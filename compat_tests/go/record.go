package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// baseTimestamp is that of sample.py, in ms. It is set once, by main.
var baseTimestamp int64

type header struct {
	name  string
	value []byte
}

// record is what a producer hands in: a nil key or value is null, which is not the same as empty.
type record struct {
	key, value []byte
	headers    []header
	timestamp  int64 // ms.
}

type received struct {
	topic     string
	partition int
	offset    int64
	record
}

// samples are the records of sample.py, which says why they are so.
func samples(count int) []record {
	all := make([]record, count)
	for i := range all {
		all[i] = sample(i)
	}
	return all
}

func sample(i int) record {
	key := []byte(fmt.Sprintf("key-%d", i%101))
	value := append([]byte(fmt.Sprintf("value %d ", i)), bytes.Repeat([]byte{byte(i)}, i*7%211)...)
	switch {
	case i%11 == 0:
		key = nil
	case i%13 == 0:
		value = nil
	case i%17 == 0:
		key = []byte{}
	case i%19 == 0:
		value = []byte{}
	case i%997 == 0:
		value = bytes.Repeat([]byte("large"), 400)
	}
	binary := make([]byte, i%32)
	for at := range binary {
		binary[at] = byte(at)
	}
	headers := []header{{"trace", []byte(strconv.Itoa(i))}, {"trace", []byte{}}, {"bin", binary}}
	return record{key, value, headers[:i%4], baseTimestamp + int64(i*37%1000-500+i)}
}

// numbered are records whose values are first, first+1 and so on, a second apart.
func numbered(first, count int) []record {
	all := make([]record, count)
	for i := range all {
		number := first + i
		all[i] = record{nil, []byte(strconv.Itoa(number)), nil, baseTimestamp + 1_000*int64(number)}
	}
	return all
}

// differences are the first few fields that did not come back as they were sent.
func differences(sent []record, got []received, same func(want, have []byte) bool) []string {
	found := []string{}
	differs := func(at int, field string, want, have any) {
		if len(found) < 5 {
			found = append(found, fmt.Sprintf("%s of %d: sent %#v, received %#v", field, at, want, have))
		}
	}
	for i := range min(len(sent), len(got)) {
		want, have := sent[i], got[i]
		if have.offset != int64(i) {
			differs(i, "offset", i, have.offset)
		}
		if !same(want.key, have.key) {
			differs(i, "key", want.key, have.key)
		}
		if !same(want.value, have.value) {
			differs(i, "value", want.value, have.value)
		}
		if want.timestamp != have.timestamp {
			differs(i, "timestamp", want.timestamp, have.timestamp)
		}
		if len(want.headers) != len(have.headers) {
			differs(i, "headers", len(want.headers), len(have.headers))
			continue
		}
		for at, header := range want.headers {
			other := have.headers[at]
			if header.name != other.name || !same(header.value, other.value) {
				differs(i, "header", header, other)
			}
		}
	}
	return found
}

// exactly tells null from empty; bytes.Equal does not.
func exactly(want, have []byte) bool {
	return bytes.Equal(want, have) && (want == nil) == (have == nil)
}
