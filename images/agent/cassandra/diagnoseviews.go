package cassandra

import (
	"context"
	"strconv"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// viewColumn is a column of a virtual table, and what we call it.
type viewColumn struct {
	name, title string
	unit        agent.Unit
}

// view tells what a statement gives.
func (e *Engine) view(ctx context.Context, title, statement string, limit int, wanted ...viewColumn) (agent.AnswerTable, error) {
	conn, err := e.asked(ctx)
	if err != nil {
		return agent.AnswerTable{}, err
	}
	found, err := conn.Query(ctx, cql.One, statement)
	if err != nil {
		return agent.AnswerTable{}, err
	}
	columns := make([]agent.AnswerColumn, len(wanted))
	for index, one := range wanted {
		columns[index] = column(one.title, one.unit)
	}
	var rows [][]any
	for _, row := range found {
		values := make([]any, len(wanted))
		for index, one := range wanted {
			values[index] = plainValue(row, one)
		}
		rows = append(rows, values)
	}
	return agent.Told(title, columns, rows, limit), nil
}

// plainValue is a column as its unit says; nil when it is null.
func plainValue(row cql.Row, wanted viewColumn) any {
	switch value := row[wanted.name].(type) {
	case nil, bool:
		return value
	case time.Time:
		return value.Format(time.RFC3339)
	default:
		if wanted.unit != agent.Text {
			if figure, known := number(value); known {
				return figure
			}
			return nil
		}
		if figure, known := number(value); known {
			return plainNumber(figure)
		}
		if texts := row.Texts(wanted.name); len(texts) > 0 {
			return strings.Join(texts, ", ")
		}
		return row.Text(wanted.name)
	}
}

// number is a figure of CQL or JSON.
func number(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case int32:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

func plainNumber(figure float64) string { return strconv.FormatFloat(figure, 'f', -1, 64) }
