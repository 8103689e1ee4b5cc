package cql

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"
)

func bytesOf(t *testing.T, digits string) []byte {
	t.Helper()
	content, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

const marshal = "org.apache.cassandra.db.marshal."

// TestValuesOfEveryTypeAreShown goes by the native protocol's description, version 4 section 6 and version 5 section 6.
func TestValuesOfEveryTypeAreShown(t *testing.T) {
	for _, each := range []struct{ class, kind, value, shown string }{
		{"AsciiType", "ascii", "6869", "hi"},
		{"UTF8Type", "text", "", ""},
		{"LongType", "bigint", "ff ff ff ff ff ff ff fe", "-2"},
		{"LongType", "bigint", "", ""},
		{"Int32Type", "int", "80 00 00 00", "-2147483648"},
		{"Int32Type", "int", "80 00", "0x8000"},
		{"ShortType", "smallint", "ff 00", "-256"},
		{"ByteType", "tinyint", "80", "-128"},
		{"CounterColumnType", "counter", "00 00 00 00 00 00 00 2a", "42"},
		{"BooleanType", "boolean", "01", "true"},
		{"BytesType", "blob", "00 ff", "0x00ff"},
		{"BytesType", "blob", "", "0x"},
		{"DecimalType", "decimal", "00 00 00 02 ff 85", "-1.23"},
		{"DecimalType", "decimal", "00 00 00 05 07", "0.00007"},
		{"DecimalType", "decimal", "ff ff ff fd 07", "7E3"},
		{"IntegerType", "varint", "00 80", "128"},
		{"IntegerType", "varint", "80", "-128"},
		{"DoubleType", "double", "3f f8 00 00 00 00 00 00", "1.5"},
		{"DoubleType", "double", "7f f8 00 00 00 00 00 00", "NaN"},
		{"FloatType", "float", "ff 80 00 00", "-Infinity"},
		{"FloatType", "float", "3d cc cc cd", "0.1"},
		{"TimestampType", "timestamp", "ff ff ff ff ff ff ff ff", "1969-12-31T23:59:59.999Z"},
		{"SimpleDateType", "date", "80 00 00 00", "1970-01-01"},
		{"TimeType", "time", "00 00 00 00 00 00 00 01", "00:00:00.000000001"},
		{"DurationType", "duration", "1c 06 80 fa", "1y2mo3d125ns"},
		{"DurationType", "duration", "01 00 00", "-1mo"},
		{"DurationType", "duration", "00 00 00", "0s"},
		{"UUIDType", "uuid", "00112233445566778899aabbccddeeff", "00112233-4455-6677-8899-aabbccddeeff"},
		{"InetAddressType", "inet", "7f 00 00 01", "127.0.0.1"},
		{"InetAddressType", "inet", "00000000000000000000000000000001", "::1"},
		{"ListType(" + marshal + "UTF8Type)", "list<text>", "00 00 00 02 00 00 00 03 69 74 27 ff ff ff ff", "['it''', null]"},
		{"FrozenType(" + marshal + "SetType(" + marshal + "Int32Type))", "set<int>", "00 00 00 01 00 00 00 04 00 00 00 07", "{7}"},
		{"MapType(" + marshal + "AsciiType," + marshal + "BooleanType)", "map<ascii, boolean>", "00 00 00 01 00 00 00 01 61 00 00 00 01 00", "{'a': false}"},
		{"TupleType(" + marshal + "Int32Type," + marshal + "UTF8Type)", "tuple<int, text>", "00 00 00 04 00 00 00 01", "(1, null)"},
		{"VectorType(" + marshal + "FloatType , 2)", "vector<float, 2>", "3f 80 00 00 40 00 00 00", "[1, 2]"},
		{"VectorType(" + marshal + "UTF8Type, 2)", "vector<text, 2>", "01 61 02 62 63", "['a', 'bc']"},
		{"UserType(shop,61646472,7a6970:" + marshal + "UTF8Type,6e6f:" + marshal + "Int32Type)", "addr", "00 00 00 01 61", "{zip: 'a', no: null}"},
		{"PointType", "'" + marshal + "PointType'", "01 02", "0x0102"},
	} {
		kind := typeOfClass(marshal+each.class, 0)
		if kind.String() != each.kind {
			t.Errorf("%s is called %s, not %s", each.class, kind, each.kind)
		}
		if shown := kind.Show(bytesOf(t, each.value)); shown != each.shown {
			t.Errorf("%s %s: shown as %s, not %s", each.class, each.value, shown, each.shown)
		}
	}
	if shown := (Type{id: typeText}).Show(nil); shown != "null" {
		t.Error(shown)
	}
}

func TestLongNumbersOfBytesAreRead(t *testing.T) {
	in := &reader{rest: bytesOf(t, "ff ff ff ff ff ff ff ff ff c0 40 00")}
	if a, b := in.vint(), in.vint(); a != 1<<64-1 || b != 0x4000 || in.failed {
		t.Fatalf("%d %d %+v", a, b, in)
	}
}

func FuzzNoValueCrashesTheAgent(f *testing.F) {
	f.Add("MapType("+marshal+"AsciiType,"+marshal+"VectorType("+marshal+"UTF8Type,3))", []byte{0, 0, 0, 1, 0, 0, 0, 1, 97, 0, 0, 0, 2, 1, 2})
	f.Add("UserType(shop,61646472,7a6970:"+marshal+"DurationType)", []byte{0, 0, 0, 1, 255})
	f.Add("VectorType("+marshal+"DecimalType,2147483647)", []byte{5, 0, 0, 0, 0, 1})
	f.Add("DecimalType", []byte{127, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, class string, value []byte) {
		kind := typeOfClass(class, 0)
		_, _ = kind.String(), kind.Show(value)
	})
}

func tracedAnswer() *answer {
	content := append([]byte("0123456789abcdef"), 0, 1)
	content = appendString(content, "beware")
	rows := rowsAnswer([][]byte{{0, typeText}, {0, typeDate}}, [][]byte{[]byte("x"), nil})
	return &answer{op: opResult, flags: flagTracing | flagWarning, content: append(content, rows...)}
}

func TestAStatementIsAskedForAsWished(t *testing.T) {
	var asked []byte
	engine := newFakeEngine(t, func(op opcode, body []byte) *answer {
		if op != opQuery {
			return &answer{op: opReady}
		}
		asked = body
		return tracedAnswer()
	})
	conn, err := Dial(t.Context(), engine.address, engine.config, "ann", "sesame")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	page, err := conn.Run(t.Context(), Wish{Statement: "SELECT", Consistency: LocalOne, Size: 7, State: []byte{9}, Tracing: true})
	if err != nil || UUID(page.Trace) != "30313233-3435-3637-3839-616263646566" || len(page.Warnings) != 1 || page.Warnings[0] != "beware" {
		t.Fatalf("%+v %v", page, err)
	}
	if len(page.Columns) != 2 || page.Columns[1].Type.String() != "date" || string(page.Rows[0][0]) != "x" || page.Rows[0][1] != nil {
		t.Fatalf("%+v", page)
	}
	wanted := append(appendLongString(nil, "SELECT"), 0, 0x0A, 0x0C, 0, 0, 0, 7, 0, 0, 0, 1, 9)
	if string(asked) != string(wanted) {
		t.Fatalf("%x, not %x", asked, wanted)
	}
}

func TestAPageThatIsCutOffIsAnErrorNotACrash(t *testing.T) {
	whole := tracedAnswer().content[26:]
	for length := range whole {
		if _, err := readPage(whole[:length]); err == nil && length > 4 {
			t.Fatalf("%d of %d bytes are taken for whole", length, len(whole))
		}
	}
}

func TestWhatBecameOfTheSchemaIsTold(t *testing.T) {
	content := binary.BigEndian.AppendUint32(nil, 5)
	for _, word := range []string{"CREATED", "TABLE", "shop", "orders"} {
		content = appendString(content, word)
	}
	if page, err := readPage(content); err != nil || page.Outcome != "CREATED TABLE shop.orders" || page.Columns != nil {
		t.Fatalf("%+v %v", page, err)
	}
}
