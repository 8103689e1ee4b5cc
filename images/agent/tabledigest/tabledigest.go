// Package tabledigest reads whole tables, and tells hashes of what is in them: two clusters that hold the same rows tell the same.
package tabledigest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/cqlschema"
)

const (
	mostSlices = 1024
	page       = 1000
	patience   = 5 * time.Minute
)

// Session is a connection that reads page by page; *cql.Conn is one.
type Session interface {
	cqlschema.Session
	QueryPage(ctx context.Context, consistency cql.Consistency, statement string, size int32, state []byte) ([][][]byte, []byte, error)
}

// Table reads every row of a table at LOCAL_QUORUM, part of the ring by part, and tells a hash of each part. `over` runs a function over
// a session, again and again while it fails for a passing reason. Error codes: invalid-parameters, table-not-found.
func Table(
	ctx context.Context, parameters agent.DigestTableParameters, report agent.Report,
	over func(ctx context.Context, do func(ctx context.Context, conn Session) error) error,
) (agent.TableDigest, error) {
	if parameters.Slices < 1 || parameters.Slices > mostSlices {
		return agent.TableDigest{}, agent.Errorf("invalid-parameters", "slices must be 1 to %d", mostSlices)
	}
	var columns []agent.ColumnSchema
	if err := over(ctx, func(ctx context.Context, conn Session) error {
		tables, err := cqlschema.ReadTables(ctx, conn, parameters.Keyspace)
		for _, table := range tables {
			if table.Name == parameters.Table {
				columns = table.Columns
			}
		}
		return err
	}); err != nil {
		return agent.TableDigest{}, err
	}
	if columns == nil {
		return agent.TableDigest{}, agent.Errorf("table-not-found", "There is no table %s.%s.", parameters.Keyspace, parameters.Table)
	}
	wanted := newQuery(parameters.Keyspace, parameters.Table, columns)
	digest := agent.TableDigest{Slices: make([]agent.SliceDigest, 0, parameters.Slices)}
	for index := range parameters.Slices {
		report(float64(index)/float64(parameters.Slices), fmt.Sprintf("Reading %s.%s", parameters.Keyspace, parameters.Table))
		part, err := slice(ctx, wanted, index, parameters.Slices, over)
		if err != nil {
			return agent.TableDigest{}, err
		}
		digest.Rows += part.Rows
		digest.Slices = append(digest.Slices, part)
	}
	return digest, nil
}

// slice begins the part anew when the engine could not answer.
func slice(
	ctx context.Context, wanted query, index, of int,
	over func(ctx context.Context, do func(ctx context.Context, conn Session) error) error,
) (agent.SliceDigest, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var part agent.SliceDigest
	return part, over(ctx, func(ctx context.Context, conn Session) error {
		part = agent.SliceDigest{}
		sum := sha256.New()
		var state []byte
		for {
			rows, next, err := conn.QueryPage(ctx, cql.LocalQuorum, wanted.statement(index, of), page, state)
			if err != nil {
				return err
			}
			for _, row := range rows {
				part.Rows++
				for index, value := range row {
					if value != nil {
						// By name, so that a column which was added since and is empty makes no difference.
						writeSized(sum, []byte(wanted.names[index]))
						writeSized(sum, value)
					}
				}
				writeSized(sum, nil)
				part.NewestWrite = max(part.NewestWrite, wanted.newest(row))
			}
			if len(next) == 0 {
				break
			}
			state = next
		}
		if part.Rows > 0 {
			part.SHA256 = hex.EncodeToString(sum.Sum(nil))
		}
		return nil
	})
}

// writeSized hashes a value so that where it ends is hashed too.
func writeSized(sum hash.Hash, value []byte) {
	sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(value))))
	sum.Write(value)
}

// query reads all columns of a table, then the write times of those that have one.
type query struct {
	// names are of all that is read: columns first.
	names []string
	table string
	token string
	// times is where the write times begin.
	times int
}

func newQuery(keyspace, table string, columns []agent.ColumnSchema) query {
	columns = slices.Clone(columns)
	slices.SortFunc(columns, func(a, b agent.ColumnSchema) int { return strings.Compare(a.Name, b.Name) })
	var read, times []string
	keys := make([]string, len(columns))
	for _, column := range columns {
		name := cqlschema.Quoted(column.Name)
		read = append(read, name)
		if column.Kind == "partition_key" {
			keys[column.Position] = name
		}
		if (column.Kind == "regular" || column.Kind == "static") && hasWriteTime(column.Type) {
			times = append(times, "WRITETIME("+name+")")
		}
	}
	keys = slices.DeleteFunc(keys, func(name string) bool { return name == "" })
	return query{
		names: append(slices.Clone(read), times...),
		table: cqlschema.Quoted(keyspace) + "." + cqlschema.Quoted(table),
		token: "token(" + strings.Join(keys, ", ") + ")",
		times: len(read),
	}
}

// hasWriteTime: a counter has none, and of a collection or a type of the user's that is not frozen each cell has its own.
func hasWriteTime(kind string) bool {
	switch kind {
	case "ascii", "bigint", "blob", "boolean", "date", "decimal", "double", "duration", "float", "inet", "int", "smallint", "text", "time",
		"timestamp", "timeuuid", "tinyint", "uuid", "varchar", "varint":
		return true
	}
	return strings.HasPrefix(kind, "frozen<") || strings.HasPrefix(kind, "vector<")
}

// statement reads one of so many equal parts of the ring. The least token belongs to no row.
func (q query) statement(index, of int) string {
	width := uint64(math.MaxUint64) / uint64(of)
	bound := func(position int) int64 { return int64(uint64(position)*width + 1<<63) }
	text := fmt.Sprintf("SELECT %s FROM %s WHERE %s > %d", strings.Join(q.names, ", "), q.table, q.token, bound(index))
	if index < of-1 {
		text += fmt.Sprintf(" AND %s <= %d", q.token, bound(index+1))
	}
	return text
}

func (q query) newest(row [][]byte) int64 {
	newest := int64(0)
	for _, value := range row[q.times:] {
		if len(value) == 8 {
			newest = max(newest, int64(binary.BigEndian.Uint64(value)))
		}
	}
	return newest
}
