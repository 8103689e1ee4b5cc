package cassandra

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// resource is something that permissions are about, named as the engine names it in its own tables: "data",
// "data/shop", "data/shop/*" (all tables, not the keyspace), "data/shop/orders", "roles", "roles/ann", "functions",
// "functions/shop".
type resource struct {
	kind resourceKind
	// keyspace is of data and functions, name of a table or of a role.
	keyspace, name string
	// text is how it was named.
	text string
}

type resourceKind int

const (
	allKeyspaces resourceKind = iota
	oneKeyspace
	allTables
	oneTable
	allRoles
	oneRole
	allFunctions
	keyspaceFunctions
)

// applicable are the permissions that the engine knows for each kind of resource.
var applicable = map[resourceKind][]string{
	allKeyspaces:      {"CREATE", "ALTER", "DROP", "SELECT", "MODIFY", "AUTHORIZE", "UNMASK", "SELECT_MASKED"},
	oneKeyspace:       {"CREATE", "ALTER", "DROP", "SELECT", "MODIFY", "AUTHORIZE", "UNMASK", "SELECT_MASKED"},
	allTables:         {"CREATE", "ALTER", "DROP", "SELECT", "MODIFY", "AUTHORIZE", "UNMASK", "SELECT_MASKED"},
	oneTable:          {"ALTER", "DROP", "SELECT", "MODIFY", "AUTHORIZE", "UNMASK", "SELECT_MASKED"},
	allRoles:          {"CREATE", "ALTER", "DROP", "AUTHORIZE", "DESCRIBE"},
	oneRole:           {"ALTER", "DROP", "AUTHORIZE", "DESCRIBE"},
	allFunctions:      {"CREATE", "ALTER", "DROP", "AUTHORIZE", "EXECUTE"},
	keyspaceFunctions: {"CREATE", "ALTER", "DROP", "AUTHORIZE", "EXECUTE"},
}

// keyspaceForm is what the engine accepts as the name of a keyspace or of a table, quoted.
var keyspaceForm = regexp.MustCompile(`^[A-Za-z0-9_]{1,222}$`)

// parseResource reads the engine's own way to name a resource. Error code: invalid-parameters.
func parseResource(text string) (parsed resource, err error) {
	defer func() { parsed.text = text }()
	refused := agent.Errorf("invalid-parameters",
		"resource must be data, data/KEYSPACE, data/KEYSPACE/*, data/KEYSPACE/TABLE, roles, roles/ROLE, functions or functions/KEYSPACE")
	root, rest, below := strings.Cut(text, "/")
	first, second, deeper := strings.Cut(rest, "/")
	switch {
	case root == "roles" && !below:
		return resource{kind: allRoles}, nil
	case root == "roles" && !deeper:
		return resource{kind: oneRole, name: first}, checkRoleName("the role in resource", first)
	case root == "data" && !below:
		return resource{kind: allKeyspaces}, nil
	case root == "functions" && !below:
		return resource{kind: allFunctions}, nil
	case !keyspaceForm.MatchString(first):
		return resource{}, refused
	case root == "functions" && !deeper:
		return resource{kind: keyspaceFunctions, keyspace: first}, nil
	case root != "data":
		return resource{}, refused
	case !deeper:
		return resource{kind: oneKeyspace, keyspace: first}, nil
	case second == "*":
		return resource{kind: allTables, keyspace: first}, nil
	case keyspaceForm.MatchString(second):
		return resource{kind: oneTable, keyspace: first, name: second}, nil
	}
	return resource{}, refused
}

// statement is the resource in GRANT and REVOKE.
func (r resource) statement() string {
	switch r.kind {
	case oneKeyspace:
		return "KEYSPACE " + quotedName(r.keyspace)
	case allTables:
		return "ALL TABLES IN KEYSPACE " + quotedName(r.keyspace)
	case oneTable:
		return "TABLE " + quotedName(r.keyspace) + "." + quotedName(r.name)
	case allRoles:
		return "ALL ROLES"
	case oneRole:
		return "ROLE " + quotedName(r.name)
	case allFunctions:
		return "ALL FUNCTIONS"
	case keyspaceFunctions:
		return "ALL FUNCTIONS IN KEYSPACE " + quotedName(r.keyspace)
	}
	return "ALL KEYSPACES"
}

// permissions are those asked for, each once; "ALL" stands for all that apply. Error code: permission-not-applicable.
func (r resource) permissions(asked []string) ([]string, error) {
	possible := applicable[r.kind]
	if slices.Contains(asked, "ALL") {
		return possible, nil
	}
	for _, permission := range asked {
		if !slices.Contains(possible, permission) {
			return nil, agent.Errorf("permission-not-applicable", "%q does not apply to %s; what applies: %s.",
				permission, r.text, strings.Join(possible, ", "))
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(asked))), nil
}

// mustExist fails with the code unknown-resource when there is no such keyspace, table or role.
func (r resource) mustExist(ctx context.Context, conn *cql.Conn) error {
	missing := func(queries ...string) (bool, error) {
		for _, query := range queries {
			values := []any{r.keyspace}
			if r.kind == oneTable {
				values = append(values, r.name)
			}
			if rows, err := conn.Query(ctx, cql.One, query, values...); err != nil || len(rows) > 0 {
				return false, err
			}
		}
		return true, nil
	}
	var absent bool
	var err error
	switch r.kind {
	case oneKeyspace, allTables, keyspaceFunctions:
		absent, err = missing("SELECT keyspace_name FROM system_schema.keyspaces WHERE keyspace_name = ?",
			"SELECT keyspace_name FROM system_virtual_schema.keyspaces WHERE keyspace_name = ?")
	case oneTable:
		absent, err = missing("SELECT table_name FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?",
			"SELECT table_name FROM system_virtual_schema.tables WHERE keyspace_name = ? AND table_name = ?")
	case oneRole:
		var roles map[string]role
		roles, err = readRoles(ctx, conn)
		_, found := roles[r.name]
		absent = !found
	}
	if err != nil {
		return err
	}
	if absent {
		return agent.Errorf("unknown-resource", "There is no %s.", r.text)
	}
	return nil
}
