package cql

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/netip"
	"time"
)

// Row is one row by column name. Text is string, bigint and counter int64, int int32, double and float float64, boolean bool, uuid and timeuuid
// string, inet netip.Addr, timestamp time.Time, lists and sets []any, maps with text keys map[string]any; null is nil, all else []byte.
type Row map[string]any

// Rows are what a statement returned; none for one that returns nothing.
type Rows []Row

// Text is the column as text, empty when it is null or something else.
func (r Row) Text(column string) string {
	switch value := r[column].(type) {
	case string:
		return value
	case netip.Addr:
		return value.String()
	}
	return ""
}

// Texts are the elements of a list or set of text.
func (r Row) Texts(column string) []string {
	elements, _ := r[column].([]any)
	texts := make([]string, 0, len(elements))
	for _, element := range elements {
		if text, ok := element.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// Bool is the column as a boolean, false when it is null.
func (r Row) Bool(column string) bool {
	value, _ := r[column].(bool)
	return value
}

const (
	typeCustom = 0x00
	typeASCII  = 0x01
	typeBigint = 0x02
	typeBool   = 0x04
	typeCount  = 0x05
	typeDouble = 0x07
	typeFloat  = 0x08
	typeInt    = 0x09
	typeStamp  = 0x0B
	typeUUID   = 0x0C
	typeText   = 0x0D
	typeTimeID = 0x0F
	typeInet   = 0x10
	typeList   = 0x20
	typeMap    = 0x21
	typeSet    = 0x22
	typeUDT    = 0x30
	typeTuple  = 0x31
)

type columnType struct {
	id      uint16
	element []columnType
}

// encode makes the bytes of a bound value: string for text, int64 for bigint, time.Time for timestamp.
func encode(value any) ([]byte, error) {
	switch value := value.(type) {
	case string:
		return []byte(value), nil
	case int64:
		return binary.BigEndian.AppendUint64(nil, uint64(value)), nil
	case time.Time:
		return binary.BigEndian.AppendUint64(nil, uint64(value.UnixMilli())), nil
	}
	return nil, fmt.Errorf("cannot bind a %T", value)
}

func decodeError(content []byte) error {
	in := &reader{rest: content}
	refusal := &Error{Code: int32(in.uint32()), Message: in.string()}
	if in.failed {
		return fmt.Errorf("unreadable error: %w", io.ErrUnexpectedEOF)
	}
	return refusal
}

func decodeResult(content []byte) (Rows, error) {
	in := &reader{rest: content}
	const rowsKind = 2
	if in.uint32() != rowsKind {
		return nil, nil
	}
	flags, count := in.uint32(), in.uint32()
	const global, paging, noMetadata = 0x1, 0x2, 0x4
	if flags&paging != 0 {
		_ = in.bytes()
	}
	if flags&noMetadata != 0 {
		return nil, fmt.Errorf("rows without their columns' names")
	}
	if flags&global != 0 {
		_, _ = in.string(), in.string()
	}
	var names []string
	var types []columnType
	for range count {
		if flags&global == 0 {
			_, _ = in.string(), in.string()
		}
		names = append(names, in.string())
		types = append(types, in.columnType(0))
		if in.failed {
			return nil, io.ErrUnexpectedEOF
		}
	}
	var rows Rows
	for range in.uint32() {
		row := make(Row, len(names))
		for index, name := range names {
			row[name] = decode(types[index], in.bytes())
		}
		if in.failed {
			return nil, io.ErrUnexpectedEOF
		}
		rows = append(rows, row)
	}
	if in.failed {
		return nil, io.ErrUnexpectedEOF
	}
	return rows, nil
}

// decode never fails: what is not as long as its type says is given back as bytes.
func decode(kind columnType, content []byte) any {
	if content == nil {
		return nil
	}
	switch {
	case kind.id == typeASCII, kind.id == typeText:
		return string(content)
	case (kind.id == typeBigint || kind.id == typeCount) && len(content) == 8:
		return int64(binary.BigEndian.Uint64(content))
	case kind.id == typeStamp && len(content) == 8:
		return time.UnixMilli(int64(binary.BigEndian.Uint64(content))).UTC()
	case kind.id == typeDouble && len(content) == 8:
		return math.Float64frombits(binary.BigEndian.Uint64(content))
	case kind.id == typeFloat && len(content) == 4:
		return float64(math.Float32frombits(binary.BigEndian.Uint32(content)))
	case kind.id == typeInt && len(content) == 4:
		return int32(binary.BigEndian.Uint32(content))
	case kind.id == typeBool && len(content) == 1:
		return content[0] != 0
	case (kind.id == typeUUID || kind.id == typeTimeID) && len(content) == 16:
		return fmt.Sprintf("%x-%x-%x-%x-%x", content[:4], content[4:6], content[6:8], content[8:10], content[10:])
	case kind.id == typeInet:
		if address, ok := netip.AddrFromSlice(content); ok {
			return address
		}
	case kind.id == typeList, kind.id == typeSet:
		in := &reader{rest: content}
		elements := []any{}
		for range in.uint32() {
			elements = append(elements, decode(kind.element[0], in.bytes()))
			if in.failed {
				return content
			}
		}
		return elements
	case kind.id == typeMap:
		in := &reader{rest: content}
		entries := map[string]any{}
		for range in.uint32() {
			key := decode(kind.element[0], in.bytes())
			value := decode(kind.element[1], in.bytes())
			if in.failed {
				return content
			}
			if text, ok := key.(string); ok {
				entries[text] = value
			}
		}
		return entries
	}
	return content
}

func appendString(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint16(to, uint16(len(text))), text...)
}

func appendLongString(to []byte, text string) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(text))), text...)
}

func appendBytes(to []byte, content []byte) []byte {
	return append(binary.BigEndian.AppendUint32(to, uint32(len(content))), content...)
}

// reader takes values from the front of a frame. When one does not fit it fails, once and for all, and gives zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(count int) []byte {
	if r.failed || count < 0 || count > len(r.rest) {
		r.failed = true
		return nil
	}
	taken := r.rest[:count]
	r.rest = r.rest[count:]
	return taken
}

func (r *reader) uint16() uint16 {
	if taken := r.take(2); taken != nil {
		return binary.BigEndian.Uint16(taken)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if taken := r.take(4); taken != nil {
		return binary.BigEndian.Uint32(taken)
	}
	return 0
}

func (r *reader) string() string { return string(r.take(int(r.uint16()))) }

// bytes is nil for null.
func (r *reader) bytes() []byte {
	length := int32(r.uint32())
	if length < 0 {
		return nil
	}
	return r.take(int(length))
}

func (r *reader) columnType(depth int) columnType {
	const deepest = 16
	kind := columnType{id: r.uint16()}
	if depth > deepest {
		r.failed = true
		return kind
	}
	switch kind.id {
	case typeCustom:
		_ = r.string()
	case typeList, typeSet:
		kind.element = []columnType{r.columnType(depth + 1)}
	case typeMap:
		kind.element = []columnType{r.columnType(depth + 1), r.columnType(depth + 1)}
	case typeUDT:
		_, _ = r.string(), r.string()
		for range r.uint16() {
			_ = r.string()
			_ = r.columnType(depth + 1)
		}
	case typeTuple:
		for range r.uint16() {
			_ = r.columnType(depth + 1)
		}
	}
	return kind
}
