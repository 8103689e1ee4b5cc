package cql

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
)

// Any takes what a hint could be left for, LocalOne one replica of the data centre; the others are those that statements of people may
// ask for besides.
const (
	Any         Consistency = 0x0000
	Two         Consistency = 0x0002
	Three       Consistency = 0x0003
	Serial      Consistency = 0x0008
	LocalSerial Consistency = 0x0009
	LocalOne    Consistency = 0x000A
)

// Column is one of a result.
type Column struct {
	Keyspace string
	Table    string
	Name     string
	Type     Type
}

// Page is what a statement of people gave, not read yet but cut into cells.
type Page struct {
	// Columns are nil when the statement gives no rows.
	Columns []Column
	// Rows have the bytes of each column, nil for null.
	Rows [][][]byte
	// Next is what to ask for the next page with; nil: this was the last.
	Next []byte
	// Trace is the id of the tracing session, 16 bytes; nil: it was not traced.
	Trace    []byte
	Warnings []string
	// Outcome of a statement without rows: "", or what became of the schema, for example "CREATED TABLE shop.orders".
	Outcome string
}

// Wish is a statement and how it is to be run.
type Wish struct {
	Statement   string
	Consistency Consistency
	// Size is how many rows a page has at most; State is what the page before told, nil for the first.
	Size    int32
	State   []byte
	Tracing bool
}

// Run runs a statement with all that its answer tells.
func (c *Conn) Run(ctx context.Context, wish Wish) (Page, error) {
	const pageSize, pagingState = 0x04, 0x08
	body := appendLongString(nil, wish.Statement)
	body = binary.BigEndian.AppendUint16(body, uint16(wish.Consistency))
	flags := byte(pageSize)
	if wish.State != nil {
		flags |= pagingState
	}
	body = append(body, flags)
	body = binary.BigEndian.AppendUint32(body, uint32(wish.Size))
	if wish.State != nil {
		body = appendBytes(body, wish.State)
	}
	var asked byte
	if wish.Tracing {
		asked = flagTracing
	}
	answer, err := c.askWith(ctx, opQuery, asked, body)
	if err != nil {
		return Page{}, err
	}
	if answer.op != opResult {
		return Page{}, fmt.Errorf("unexpected answer 0x%02X to QUERY", byte(answer.op))
	}
	page, err := readPage(answer.content)
	page.Trace, page.Warnings = answer.trace, answer.warnings
	return page, err
}

func readPage(content []byte) (Page, error) {
	in := &reader{rest: content}
	const rowsKind, schemaKind = 2, 5
	var page Page
	switch in.uint32() {
	case rowsKind:
	case schemaKind:
		page.Outcome = in.schemaChange()
		if in.failed {
			return Page{}, io.ErrUnexpectedEOF
		}
		return page, nil
	default:
		return page, nil
	}
	flags, columns := in.uint32(), in.uint32()
	const global, paging, noMetadata = 0x1, 0x2, 0x4
	if flags&noMetadata != 0 {
		return Page{}, fmt.Errorf("rows without their columns' names")
	}
	if flags&paging != 0 {
		page.Next = in.bytes()
	}
	var keyspace, table string
	if flags&global != 0 {
		keyspace, table = in.string(), in.string()
	}
	page.Columns = []Column{}
	for range columns {
		if flags&global == 0 {
			keyspace, table = in.string(), in.string()
		}
		page.Columns = append(page.Columns, Column{Keyspace: keyspace, Table: table, Name: in.string(), Type: in.fullType(0)})
		if in.failed {
			return Page{}, io.ErrUnexpectedEOF
		}
	}
	for range in.uint32() {
		row := make([][]byte, len(page.Columns))
		for index := range row {
			row[index] = in.bytes()
		}
		if in.failed {
			return Page{}, io.ErrUnexpectedEOF
		}
		page.Rows = append(page.Rows, row)
	}
	if in.failed {
		return Page{}, io.ErrUnexpectedEOF
	}
	return page, nil
}

// schemaChange is what was changed, in the words of the protocol.
func (r *reader) schemaChange() string {
	change, target := r.string(), r.string()
	name := r.string()
	if target != "KEYSPACE" {
		name += "." + r.string()
	}
	return change + " " + target + " " + name
}
