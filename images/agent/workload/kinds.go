package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"ringmaster/agent"
)

// Keyspace is the only one that a workload touches.
const Keyspace = "test_drive"

// kind is one workload: its tables, its data set, and one thing after another that is done with it.
type kind struct {
	tables []string
	// row is what loads one row of the data set. The same row of the same hour is the same, so loading can be repeated.
	row func(index, rows int, now time.Time) []statement
	// next is what is done then.
	next func(dice *rand.Rand, rows int, now time.Time) statement
}

type statement struct {
	text   string
	values []any
	writes bool
}

func read(text string, values ...any) statement { return statement{text: text, values: values} }

func write(text string, values ...any) statement {
	return statement{text: text, values: values, writes: true}
}

var kinds = map[agent.Workload]kind{
	agent.KeyValue:   {tables: keyValueTables, row: keyValueRow, next: keyValueNext},
	agent.TimeSeries: {tables: timeSeriesTables, row: timeSeriesRow, next: timeSeriesNext},
	agent.Orders:     {tables: orderTables, row: orderRow, next: orderNext},
}

// pick is a row of the data set. Half of all picks are among the first quarter of the rows, so that some data is hotter than other.
func pick(dice *rand.Rand, rows int) int {
	place := dice.Float64()
	return int(place * place * float64(rows))
}

// chance is true so many times in a hundred.
func chance(dice *rand.Rand, percent int) bool { return dice.IntN(100) < percent }

// Values by key: 80 % reads, 20 % writes.

var keyValueTables = []string{"CREATE TABLE IF NOT EXISTS test_drive.key_value (id text PRIMARY KEY, value text)"}

const (
	putValue = "INSERT INTO test_drive.key_value (id, value) VALUES (?, ?)"
	getValue = "SELECT value FROM test_drive.key_value WHERE id = ?"
)

// valueBytes is how long a value is.
const valueBytes = 256

func keyOf(index int) string { return fmt.Sprintf("key-%07d", index) }

// valueOf looks different for each key and revision, and compresses to about a half.
func valueOf(index int, revision uint64) string {
	dice := rand.New(rand.NewPCG(uint64(index), revision))
	var text strings.Builder
	for text.Len() < valueBytes {
		fmt.Fprintf(&text, "%016x", dice.Uint64())
	}
	return text.String()
}

func keyValueRow(index, _ int, _ time.Time) []statement {
	return []statement{write(putValue, keyOf(index), valueOf(index, 0))}
}

func keyValueNext(dice *rand.Rand, rows int, _ time.Time) statement {
	index := pick(dice, rows)
	if chance(dice, 20) {
		return write(putValue, keyOf(index), valueOf(index, dice.Uint64()))
	}
	return read(getValue, keyOf(index))
}

// Measurements of sensors: 80 % writes of a new one, 20 % reads of the newest hundred of a sensor. They end after a day, so that a long
// test drive does not fill the disk.

var timeSeriesTables = []string{
	"CREATE TABLE IF NOT EXISTS test_drive.measurements (sensor text, day text, at timestamp, millidegrees bigint," +
		" PRIMARY KEY ((sensor, day), at)) WITH CLUSTERING ORDER BY (at DESC) AND default_time_to_live = 86400 AND compaction =" +
		" {'class': 'TimeWindowCompactionStrategy', 'compaction_window_unit': 'HOURS', 'compaction_window_size': '1'}",
}

const (
	addMeasurement     = "INSERT INTO test_drive.measurements (sensor, day, at, millidegrees) VALUES (?, ?, ?, ?)"
	newestMeasurements = "SELECT at, millidegrees FROM test_drive.measurements WHERE sensor = ? AND day = ? LIMIT 100"
)

// sensors is how many measure.
const sensors = 100

func sensorOf(index int) string { return fmt.Sprintf("sensor-%03d", index%sensors) }

func dayOf(at time.Time) string { return at.UTC().Format(time.DateOnly) }

// timeSeriesRow is of the past: each sensor has measured every minute until this hour began.
func timeSeriesRow(index, _ int, now time.Time) []statement {
	at := now.Truncate(time.Hour).Add(-time.Duration(index/sensors+1) * time.Minute)
	return []statement{write(addMeasurement, sensorOf(index), dayOf(at), at, int64(15_000+index%10_000))}
}

func timeSeriesNext(dice *rand.Rand, _ int, now time.Time) statement {
	sensor := sensorOf(dice.IntN(sensors))
	if chance(dice, 20) {
		return read(newestMeasurements, sensor, dayOf(now))
	}
	return write(addMeasurement, sensor, dayOf(now), now, int64(15_000+dice.IntN(10_000)))
}

// Orders: 50 % reads of one, 20 % lists of a customer's, 20 % changes of a state, 10 % orders placed anew, in both tables at once.

var orderTables = []string{
	"CREATE TABLE IF NOT EXISTS test_drive.orders (id text PRIMARY KEY, customer text, placed_at timestamp, state text, cents bigint)",
	"CREATE TABLE IF NOT EXISTS test_drive.orders_by_customer (customer text, id text, placed_at timestamp, cents bigint," +
		" PRIMARY KEY (customer, id))",
}

const (
	insertOrder = "INSERT INTO test_drive.orders (id, customer, placed_at, state, cents) VALUES (?, ?, ?, ?, ?)"
	insertOfOne = "INSERT INTO test_drive.orders_by_customer (customer, id, placed_at, cents) VALUES (?, ?, ?, ?)"
	placeOrder  = "BEGIN BATCH " + insertOrder + "; " + insertOfOne + "; APPLY BATCH"
	getOrder    = "SELECT customer, placed_at, state, cents FROM test_drive.orders WHERE id = ?"
	listOrders  = "SELECT id, placed_at, cents FROM test_drive.orders_by_customer WHERE customer = ? LIMIT 20"
	changeState = "UPDATE test_drive.orders SET state = ? WHERE id = ?"
)

var orderStates = []string{"placed", "paid", "sent", "delivered"}

// ordersEach is how many orders a customer has.
const ordersEach = 10

func orderOf(index int) string { return fmt.Sprintf("order-%07d", index) }

func customerOf(index int) string { return fmt.Sprintf("customer-%06d", index/ordersEach) }

func orderRow(index, _ int, now time.Time) []statement {
	at, cents := now.Truncate(time.Hour).Add(-time.Duration(index+1)*time.Second), int64(100+index%50_000)
	return []statement{
		write(insertOrder, orderOf(index), customerOf(index), at, orderStates[index%len(orderStates)], cents),
		write(insertOfOne, customerOf(index), orderOf(index), at, cents),
	}
}

func orderNext(dice *rand.Rand, rows int, now time.Time) statement {
	index := pick(dice, rows)
	switch turn := dice.IntN(100); {
	case turn < 50:
		return read(getOrder, orderOf(index))
	case turn < 70:
		return read(listOrders, customerOf(index))
	case turn < 90:
		return write(changeState, orderStates[dice.IntN(len(orderStates))], orderOf(index))
	}
	id, customer, cents := orderOf(index), customerOf(index), int64(100+dice.IntN(50_000))
	return write(placeOrder, id, customer, now, orderStates[0], cents, customer, id, now, cents)
}
