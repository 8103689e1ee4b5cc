package cql

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Show is a value as people read it: text as it is, all else as CQL writes it, times in UTC. What is not as long as its type
// says is shown as bytes. Null is the caller's to tell: nil is shown as the word.
func (t Type) Show(value []byte) string {
	if value == nil {
		return "null"
	}
	if t.id == typeASCII || t.id == typeText || t.id == typeOldText {
		return string(value)
	}
	return t.literal(value)
}

// literal is a value as it stands within another one.
func (t Type) literal(value []byte) string {
	if value == nil {
		return "null"
	}
	if t.id == typeASCII || t.id == typeText || t.id == typeOldText {
		return "'" + strings.ReplaceAll(string(value), "'", "''") + "'"
	}
	// Types of numbers may hold a value without bytes, which is not null.
	if len(value) == 0 && t.id != typeBlob {
		return ""
	}
	if shown, read := t.number(value); read {
		return shown
	}
	if shown, read := t.moment(value); read {
		return shown
	}
	if shown, read := t.nested(value); read {
		return shown
	}
	return fmt.Sprintf("0x%x", value)
}

func (t Type) number(value []byte) (string, bool) {
	switch {
	case t.id == typeBool && len(value) == 1:
		return strconv.FormatBool(value[0] != 0), true
	case t.id == typeTinyint && len(value) == 1:
		return strconv.Itoa(int(int8(value[0]))), true
	case t.id == typeSmallint && len(value) == 2:
		return strconv.Itoa(int(int16(binary.BigEndian.Uint16(value)))), true
	case t.id == typeInt && len(value) == 4:
		return strconv.Itoa(int(int32(binary.BigEndian.Uint32(value)))), true
	case (t.id == typeBigint || t.id == typeCount) && len(value) == 8:
		return strconv.FormatInt(int64(binary.BigEndian.Uint64(value)), 10), true
	case t.id == typeFloat && len(value) == 4:
		return fraction(float64(math.Float32frombits(binary.BigEndian.Uint32(value))), 32), true
	case t.id == typeDouble && len(value) == 8:
		return fraction(math.Float64frombits(binary.BigEndian.Uint64(value)), 64), true
	case t.id == typeVarint:
		return integer(value).String(), true
	case t.id == typeDecimal && len(value) > 4:
		return decimal(integer(value[4:]), int32(binary.BigEndian.Uint32(value))), true
	case (t.id == typeUUID || t.id == typeTimeID) && len(value) == 16:
		return UUID(value), true
	case t.id == typeInet:
		if address, ok := netip.AddrFromSlice(value); ok {
			return address.String(), true
		}
	}
	return "", false
}

func fraction(value float64, width int) string {
	switch {
	case math.IsNaN(value):
		return "NaN"
	case math.IsInf(value, 0):
		return strings.Replace(strconv.FormatFloat(value, 'g', -1, width), "Inf", "Infinity", 1)
	}
	return strings.TrimPrefix(strconv.FormatFloat(value, 'g', -1, width), "+")
}

// integer reads two's complement of any length.
func integer(value []byte) *big.Int {
	read := new(big.Int).SetBytes(value)
	if value[0]&0x80 != 0 {
		read.Sub(read, new(big.Int).Lsh(big.NewInt(1), uint(8*len(value))))
	}
	return read
}

func decimal(unscaled *big.Int, scale int32) string {
	const longest = 1000
	if scale == 0 {
		return unscaled.String()
	}
	if scale < 0 || scale > longest {
		return fmt.Sprintf("%sE%d", unscaled, -int64(scale))
	}
	digits := new(big.Int).Abs(unscaled).String()
	if missing := int(scale) + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	sign := ""
	if unscaled.Sign() < 0 {
		sign = "-"
	}
	at := len(digits) - int(scale)
	return sign + digits[:at] + "." + digits[at:]
}

// UUID is how 16 bytes are written.
func UUID(value []byte) string {
	return fmt.Sprintf("%x-%x-%x-%x-%x", value[:4], value[4:6], value[6:8], value[8:10], value[10:])
}

func (t Type) moment(value []byte) (string, bool) {
	switch {
	case t.id == typeStamp && len(value) == 8:
		return time.UnixMilli(int64(binary.BigEndian.Uint64(value))).UTC().Format("2006-01-02T15:04:05.000Z"), true
	case t.id == typeDate && len(value) == 4:
		days := int64(binary.BigEndian.Uint32(value)) - 1<<31
		return time.Unix(days*86400, 0).UTC().Format("2006-01-02"), true
	case t.id == typeTime && len(value) == 8:
		if nanos := int64(binary.BigEndian.Uint64(value)); nanos >= 0 && nanos < 86400e9 {
			return time.Unix(0, nanos).UTC().Format("15:04:05.000000000"), true
		}
	case t.id == typeDuration:
		in := &reader{rest: value}
		months, days, nanos := in.signedVint(), in.signedVint(), in.signedVint()
		if !in.failed && len(in.rest) == 0 {
			return duration(months, days, nanos), true
		}
	}
	return "", false
}

// duration is written in the units of CQL, for example 1y2mo3d4h5m6s7ms8us9ns.
func duration(months, days, nanos int64) string {
	var text strings.Builder
	if months < 0 || days < 0 || nanos < 0 {
		text.WriteByte('-')
	}
	part := func(count uint64, unit string) {
		if count != 0 {
			text.WriteString(strconv.FormatUint(count, 10) + unit)
		}
	}
	positive := func(value int64) uint64 {
		if value < 0 {
			return -uint64(value)
		}
		return uint64(value)
	}
	part(positive(months)/12, "y")
	part(positive(months)%12, "mo")
	part(positive(days), "d")
	left := positive(nanos)
	for _, unit := range []struct {
		nanos uint64
		name  string
	}{{3600e9, "h"}, {60e9, "m"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}} {
		part(left/unit.nanos, unit.name)
		left %= unit.nanos
	}
	if months == 0 && days == 0 && nanos == 0 {
		return "0s"
	}
	return text.String()
}

func (t Type) nested(value []byte) (string, bool) {
	in := &reader{rest: value}
	switch t.id {
	case typeList, typeSet:
		var parts []string
		for range in.uint32() {
			element := in.bytes()
			if in.failed {
				return "", false
			}
			parts = append(parts, t.element[0].literal(element))
		}
		if t.id == typeList {
			return "[" + strings.Join(parts, ", ") + "]", !in.failed
		}
		return "{" + strings.Join(parts, ", ") + "}", !in.failed
	case typeMap:
		var parts []string
		for range in.uint32() {
			key, content := in.bytes(), in.bytes()
			if in.failed {
				return "", false
			}
			parts = append(parts, t.element[0].literal(key)+": "+t.element[1].literal(content))
		}
		return "{" + strings.Join(parts, ", ") + "}", !in.failed
	case typeTuple, typeUDT:
		var parts []string
		for index, element := range t.element {
			// A value from before a field was added ends early.
			var content []byte
			if len(in.rest) > 0 {
				content = in.bytes()
			}
			shown := element.literal(content)
			if t.id == typeUDT {
				shown = t.names[index] + ": " + shown
			}
			parts = append(parts, shown)
		}
		if t.id == typeUDT {
			return "{" + strings.Join(parts, ", ") + "}", !in.failed
		}
		return "(" + strings.Join(parts, ", ") + ")", !in.failed
	case typeVector:
		return t.vector(in)
	}
	return "", false
}

func (t Type) vector(in *reader) (string, bool) {
	fixed := t.element[0].fixedBytes()
	var parts []string
	for range t.size {
		length := fixed
		if fixed == 0 {
			length = int(min(in.vint(), maxFrameBytes))
		}
		element := in.take(length)
		if in.failed {
			return "", false
		}
		parts = append(parts, t.element[0].literal(element))
	}
	return "[" + strings.Join(parts, ", ") + "]", len(in.rest) == 0
}

// vint reads an unsigned number of one to nine bytes: the leading ones of the first say how many follow.
func (r *reader) vint() uint64 {
	first := r.take(1)
	if first == nil {
		return 0
	}
	more := bits.LeadingZeros8(^first[0])
	var value uint64
	if more < 8 {
		value = uint64(first[0] & (0xFF >> more))
	}
	for _, next := range r.take(more) {
		value = value<<8 | uint64(next)
	}
	return value
}

// signedVint reads a number whose sign is its last bit.
func (r *reader) signedVint() int64 {
	value := r.vint()
	return int64(value>>1) ^ -int64(value&1)
}
