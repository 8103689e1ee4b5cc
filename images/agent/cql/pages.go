package cql

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
)

// QueryPage runs a statement and gives one page of at most so many rows, each as its columns' bytes in the order of the
// statement (nil for null), and the state to ask for the next page with; nil: this was the last.
func (c *Conn) QueryPage(ctx context.Context, consistency Consistency, statement string, size int32, state []byte) ([][][]byte, []byte, error) {
	const pageSize, pagingState = 0x04, 0x08
	body := appendLongString(nil, statement)
	body = binary.BigEndian.AppendUint16(body, uint16(consistency))
	flags := byte(pageSize)
	if state != nil {
		flags |= pagingState
	}
	body = append(body, flags)
	body = binary.BigEndian.AppendUint32(body, uint32(size))
	if state != nil {
		body = appendBytes(body, state)
	}
	answer, content, err := c.ask(ctx, opQuery, body)
	if err != nil {
		return nil, nil, err
	}
	if answer != opResult {
		return nil, nil, fmt.Errorf("unexpected answer 0x%02X to QUERY", byte(answer))
	}
	return decodePage(content)
}

func decodePage(content []byte) (rows [][][]byte, next []byte, err error) {
	in := &reader{rest: content}
	const rowsKind, global, paging, noMetadata = 2, 0x1, 0x2, 0x4
	if in.uint32() != rowsKind {
		return nil, nil, fmt.Errorf("the statement gives no rows")
	}
	flags, columns := in.uint32(), in.uint32()
	if flags&paging != 0 {
		next = in.bytes()
	}
	if flags&noMetadata == 0 {
		if flags&global != 0 {
			_, _ = in.string(), in.string()
		}
		for range columns {
			if flags&global == 0 {
				_, _ = in.string(), in.string()
			}
			_ = in.string()
			_ = in.columnType(0)
			if in.failed {
				return nil, nil, io.ErrUnexpectedEOF
			}
		}
	}
	for range in.uint32() {
		row := make([][]byte, columns)
		for index := range row {
			row[index] = in.bytes()
		}
		if in.failed {
			return nil, nil, io.ErrUnexpectedEOF
		}
		rows = append(rows, row)
	}
	if in.failed {
		return nil, nil, io.ErrUnexpectedEOF
	}
	return rows, next, nil
}
