package cql

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Numbers of types that only statements of people need; see values.go for the others.
const (
	typeBlob     = 0x03
	typeDecimal  = 0x06
	typeOldText  = 0x0A
	typeVarint   = 0x0E
	typeDate     = 0x11
	typeTime     = 0x12
	typeSmallint = 0x13
	typeTinyint  = 0x14
	typeDuration = 0x15
	// typeVector has no number in the protocol: it comes by its class' name.
	typeVector = 0xFFFF
)

// deepestType is how many types may be within each other.
const deepestType = 16

// Type is what a column holds.
type Type struct {
	id      uint16
	element []Type
	// names of a user-defined type's fields; name is its own.
	names []string
	name  string
	// size is how many elements a vector has.
	size int
}

var plainNames = map[uint16]string{
	typeASCII: "ascii", typeBigint: "bigint", typeBlob: "blob", typeBool: "boolean", typeCount: "counter", typeDecimal: "decimal",
	typeDouble: "double", typeFloat: "float", typeInt: "int", typeStamp: "timestamp", typeUUID: "uuid", typeOldText: "text",
	typeText: "text", typeVarint: "varint", typeTimeID: "timeuuid", typeInet: "inet", typeDate: "date", typeTime: "time",
	typeSmallint: "smallint", typeTinyint: "tinyint", typeDuration: "duration",
}

// String is the type as CQL writes it.
func (t Type) String() string {
	inner := make([]string, len(t.element))
	for index, element := range t.element {
		inner[index] = element.String()
	}
	switch t.id {
	case typeList:
		return "list<" + inner[0] + ">"
	case typeSet:
		return "set<" + inner[0] + ">"
	case typeMap:
		return "map<" + strings.Join(inner, ", ") + ">"
	case typeTuple:
		return "tuple<" + strings.Join(inner, ", ") + ">"
	case typeVector:
		return fmt.Sprintf("vector<%s, %d>", inner[0], t.size)
	case typeUDT, typeCustom:
		return t.name
	}
	if name, known := plainNames[t.id]; known {
		return name
	}
	return fmt.Sprintf("type 0x%04X", t.id)
}

// fullType reads a type with all that is needed to show values of it.
func (r *reader) fullType(depth int) Type {
	kind := Type{id: r.uint16()}
	if depth > deepestType {
		r.failed = true
		return kind
	}
	elements := 0
	switch kind.id {
	case typeCustom:
		return typeOfClass(r.string(), 0)
	case typeList, typeSet:
		elements = 1
	case typeMap:
		elements = 2
	case typeTuple:
		elements = int(r.uint16())
	case typeUDT:
		_ = r.string()
		kind.name = r.string()
		for range r.uint16() {
			if r.failed {
				return kind
			}
			kind.names = append(kind.names, r.string())
			kind.element = append(kind.element, r.fullType(depth+1))
		}
		return kind
	}
	for range elements {
		if r.failed {
			return kind
		}
		kind.element = append(kind.element, r.fullType(depth+1))
	}
	return kind
}

var plainClasses = map[string]uint16{
	"AsciiType": typeASCII, "LongType": typeBigint, "BytesType": typeBlob, "BooleanType": typeBool, "CounterColumnType": typeCount,
	"DecimalType": typeDecimal, "DoubleType": typeDouble, "FloatType": typeFloat, "Int32Type": typeInt, "TimestampType": typeStamp,
	"DateType": typeStamp, "UUIDType": typeUUID, "UTF8Type": typeText, "IntegerType": typeVarint, "TimeUUIDType": typeTimeID,
	"InetAddressType": typeInet, "SimpleDateType": typeDate, "TimeType": typeTime, "ShortType": typeSmallint, "ByteType": typeTinyint,
	"DurationType": typeDuration,
}

// typeOfClass is the type that the engine names by its own class; one that is not known is shown as bytes.
func typeOfClass(class string, depth int) Type {
	unknown := Type{id: typeCustom, name: "'" + class + "'"}
	name, inside, nested := strings.Cut(class, "(")
	name = name[strings.LastIndexByte(name, '.')+1:]
	if !nested {
		if id, plain := plainClasses[strings.TrimSpace(name)]; plain {
			return Type{id: id}
		}
		return unknown
	}
	inside, closed := strings.CutSuffix(strings.TrimSpace(inside), ")")
	if !closed || depth > deepestType {
		return unknown
	}
	parts := splitClasses(inside)
	of := func(id uint16, count int) Type {
		if count > 0 && len(parts) != count {
			return unknown
		}
		kind := Type{id: id}
		for _, part := range parts {
			kind.element = append(kind.element, typeOfClass(part, depth+1))
		}
		return kind
	}
	switch name {
	case "FrozenType", "ReversedType":
		if len(parts) == 1 {
			return typeOfClass(parts[0], depth+1)
		}
	case "ListType":
		return of(typeList, 1)
	case "SetType":
		return of(typeSet, 1)
	case "MapType":
		return of(typeMap, 2)
	case "TupleType":
		return of(typeTuple, 0)
	case "VectorType":
		if len(parts) != 2 {
			return unknown
		}
		size, err := strconv.Atoi(parts[1])
		if err != nil || size < 1 {
			return unknown
		}
		return Type{id: typeVector, size: size, element: []Type{typeOfClass(parts[0], depth+1)}}
	case "UserType":
		if kind, read := userType(parts, depth); read {
			return kind
		}
	}
	return unknown
}

// userType reads keyspace, name and fields; names are in hexadecimal digits.
func userType(parts []string, depth int) (Type, bool) {
	if len(parts) < 2 {
		return Type{}, false
	}
	plain := func(digits string) (string, bool) {
		name, err := hex.DecodeString(digits)
		return string(name), err == nil
	}
	name, good := plain(parts[1])
	kind := Type{id: typeUDT, name: name}
	for _, part := range parts[2:] {
		digits, class, _ := strings.Cut(part, ":")
		field, read := plain(digits)
		good = good && read
		kind.names = append(kind.names, field)
		kind.element = append(kind.element, typeOfClass(class, depth+1))
	}
	return kind, good
}

// splitClasses cuts at the commas that are in no parentheses.
func splitClasses(text string) []string {
	var parts []string
	deep, begin := 0, 0
	for index, letter := range text {
		switch letter {
		case '(':
			deep++
		case ')':
			deep--
		case ',':
			if deep == 0 {
				parts = append(parts, strings.TrimSpace(text[begin:index]))
				begin = index + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(text[begin:]))
}

// fixedBytes is how long every value is; 0: they differ. It says how a vector of them is written.
func (t Type) fixedBytes() int {
	switch t.id {
	case typeBool:
		return 1
	case typeInt, typeFloat:
		return 4
	case typeBigint, typeDouble, typeStamp:
		return 8
	case typeUUID, typeTimeID:
		return 16
	case typeVector:
		return t.size * t.element[0].fixedBytes()
	}
	return 0
}
