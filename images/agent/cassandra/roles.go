package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// accessWithin is how long a job that looks at roles or changes them may take.
const accessWithin = time.Minute

// Role is a role as the job roles tells it.
type Role struct {
	Name        string   `json:"name"`
	CanLogin    bool     `json:"can_login"`
	IsSuperuser bool     `json:"is_superuser"`
	MemberOf    []string `json:"member_of"`
	// CIDRs are where the role may be used from; none means everywhere.
	CIDRs []string `json:"cidrs"`
}

// Permission is one that a role holds itself, not by way of another role.
type Permission struct {
	Role       string `json:"role"`
	Resource   string `json:"resource"`
	Permission string `json:"permission"`
}

// Roles is the result of the job roles.
type Roles struct {
	Roles       []Role       `json:"roles"`
	Permissions []Permission `json:"permissions"`
}

// role is a row of the engine's own table.
type role struct {
	name                string
	canLogin, superuser bool
	memberOf            []string
	hash                string
	// addressGroups are the groups of addresses it may be used from; none means everywhere.
	addressGroups []string
}

// access runs do with the control account, again while it fails for a passing reason. Error codes: engine-not-running,
// control-unknown, control-refused, control-too-weak, access-timeout, and those of do.
func (e *Engine) access(ctx context.Context, do func(ctx context.Context, conn *cql.Conn, control string) error) error {
	if err := e.running(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, accessWithin, agent.Errorf("access-timeout", "The engine did not do it within %s.", accessWithin))
	defer cancel()
	return untilPassed(ctx, func() error {
		account, err := e.control.remembered()
		if err != nil {
			return err
		}
		conn, err := e.strongControl(ctx, account.Username)
		if shutOut(err) {
			// The engine forgot this node's address; a new login makes it look again.
			e.control.forget()
			conn, err = e.strongControl(ctx, account.Username)
		}
		switch {
		case shutOut(err):
			return agent.Errorf("control-refused", "The engine does not let the control account in from this node's address: %v", err)
		case cql.Code(err) == cql.CodeBadCredentials:
			return agent.Errorf("control-refused", "The engine does not accept the control account; was it dropped or given another password? %v", err)
		case err != nil:
			return err
		}
		err = do(ctx, conn, account.Username)
		if shutOut(err) {
			// The same job on another node has just limited the account to addresses that this engine did not know yet.
			e.control.forget()
			if conn, err = e.strongControl(ctx, account.Username); err == nil {
				err = do(ctx, conn, account.Username)
			}
		}
		return refused(err)
	})
}

// strongControl is the control account's connection, if the account is strong enough.
func (e *Engine) strongControl(ctx context.Context, control string) (*cql.Conn, error) {
	conn, err := e.control.again(ctx)
	if err != nil {
		return nil, err
	}
	return conn, strongEnough(ctx, conn, control)
}

// strongEnough fails with the code control-too-weak when the control account is no superuser: rings that were secured
// by earlier agents have such a one.
func strongEnough(ctx context.Context, conn *cql.Conn, control string) error {
	rows, err := conn.Query(ctx, cql.LocalQuorum, "SELECT is_superuser FROM system_auth.roles WHERE role = ?", control)
	if err != nil && (shutOut(err) || cql.Code(err) != cql.CodeUnauthorized) {
		return err
	}
	if err != nil || len(rows) == 0 || !rows[0].Bool("is_superuser") {
		return agent.Errorf("control-too-weak", "The control account is no superuser, as on all rings made by earlier versions. "+
			"A superuser makes it one with: ALTER ROLE %s WITH SUPERUSER = true", quotedName(control))
	}
	return nil
}

// refused gives a refusal by the engine the code engine-refused; what may pass and what has a code stays as it is.
func refused(err error) error {
	if err == nil || cql.Code(err) == 0 || cql.Passing(err) {
		return err
	}
	return agent.Errorf("engine-refused", "%v", err)
}

// readRoles are all roles by name, the control account too.
func readRoles(ctx context.Context, conn *cql.Conn) (map[string]role, error) {
	rows, err := conn.Query(ctx, cql.LocalQuorum, "SELECT role, can_login, is_superuser, member_of, salted_hash FROM system_auth.roles")
	if err != nil {
		return nil, err
	}
	groups, err := conn.Query(ctx, cql.LocalQuorum, "SELECT role, cidr_groups FROM system_auth.cidr_permissions")
	if err != nil {
		return nil, err
	}
	roles := map[string]role{}
	for _, row := range rows {
		members := row.Texts("member_of")
		slices.Sort(members)
		roles[row.Text("role")] = role{
			name: row.Text("role"), canLogin: row.Bool("can_login"), superuser: row.Bool("is_superuser"), memberOf: members,
			hash: row.Text("salted_hash"),
		}
	}
	for _, row := range groups {
		if found, exists := roles[row.Text("role")]; exists {
			found.addressGroups = row.Texts("cidr_groups")
			roles[found.name] = found
		}
	}
	return roles, nil
}

func (e *Engine) roles(ctx context.Context, _ Nothing, _ agent.Report) (Roles, error) {
	var told Roles
	err := e.access(ctx, func(ctx context.Context, conn *cql.Conn, control string) error {
		roles, err := readRoles(ctx, conn)
		if err != nil {
			return err
		}
		groups, err := readGroups(ctx, conn)
		if err != nil {
			return err
		}
		permissions, err := conn.Query(ctx, cql.LocalQuorum, "SELECT role, resource, permissions FROM system_auth.role_permissions")
		if err != nil {
			return err
		}
		delete(roles, control)
		told = Roles{Roles: []Role{}, Permissions: []Permission{}}
		for _, name := range slices.Sorted(maps.Keys(roles)) {
			found := roles[name]
			told.Roles = append(told.Roles, Role{
				Name: name, CanLogin: found.canLogin, IsSuperuser: found.superuser, MemberOf: found.memberOf, CIDRs: found.cidrs(groups),
			})
		}
		for _, row := range permissions {
			name, resource := row.Text("role"), row.Text("resource")
			if _, shown := roles[name]; !shown || resource == "roles/"+control {
				continue
			}
			for _, permission := range row.Texts("permissions") {
				told.Permissions = append(told.Permissions, Permission{Role: name, Resource: resource, Permission: permission})
			}
		}
		slices.SortFunc(told.Permissions, func(a, b Permission) int {
			return cmp.Or(strings.Compare(a.Role, b.Role), strings.Compare(a.Resource, b.Resource), strings.Compare(a.Permission, b.Permission))
		})
		return nil
	})
	return told, err
}

// RoleChange are the parameters of the job change-role.
type RoleChange struct {
	// Action is "create", "alter" or "drop".
	Action string `json:"action"`
	Name   string `json:"name"`
	// PasswordHash is bcrypt with the prefix $2a$. Left out: none at creation, as it is when altered.
	PasswordHash string `json:"password_hash,omitempty"`
	CanLogin     *bool  `json:"can_login,omitempty"`
	IsSuperuser  *bool  `json:"is_superuser,omitempty"`
	// Administrator is the role that may be neither dropped nor weakened, besides the control account and the last superuser.
	Administrator string `json:"administrator,omitempty"`
}

func (p RoleChange) check() error {
	if err := checkRoleName("name", p.Name); err != nil {
		return err
	}
	options := p.PasswordHash != "" || p.CanLogin != nil || p.IsSuperuser != nil
	switch {
	case p.Action != "create" && p.Action != "alter" && p.Action != "drop":
		return agent.Errorf("invalid-parameters", `action must be "create", "alter" or "drop"`)
	case p.PasswordHash != "" && !hashForm.MatchString(p.PasswordHash):
		return agent.Errorf("invalid-parameters", "password_hash must be bcrypt with the prefix $2a$")
	case p.Action == "drop" && options:
		return agent.Errorf("invalid-parameters", "a role that is dropped takes no options")
	case p.Action == "alter" && !options:
		return agent.Errorf("invalid-parameters", "nothing to alter: give password_hash, can_login or is_superuser")
	}
	return nil
}

// statement is empty when there is nothing to do. Error codes: unknown-role, role-exists, role-protected.
func (p RoleChange) statement(roles map[string]role, control string) (string, error) {
	existing, exists := roles[p.Name]
	if p.Name == control || p.Name == defaultSuperuser {
		return "", agent.Errorf("role-protected", "%s belongs to the machinery and cannot be changed.", p.Name)
	}
	weakened := p.Action == "drop" || p.CanLogin != nil && !*p.CanLogin || p.IsSuperuser != nil && !*p.IsSuperuser
	if exists && p.Action != "create" && weakened && existing.superuser && existing.canLogin {
		others := slices.ContainsFunc(slices.Collect(maps.Values(roles)), func(other role) bool {
			return other.superuser && other.canLogin && other.name != p.Name && other.name != control
		})
		if p.Name == p.Administrator || !others {
			return "", agent.Errorf("role-protected", "%s is the administrator: it can be neither dropped nor made less than a superuser that logs in.", p.Name)
		}
	}
	switch {
	case p.Action == "drop" && !exists:
		return "", nil
	case p.Action == "drop":
		return "DROP ROLE IF EXISTS " + quotedName(p.Name), nil
	case p.Action == "alter" && !exists:
		return "", unknownRole(p.Name)
	case p.Action == "create" && exists:
		// A job that was cut off after the statement finds its own role: the hash has a salt that no other has.
		same := existing.hash == p.PasswordHash && existing.canLogin == isTrue(p.CanLogin) && existing.superuser == isTrue(p.IsSuperuser)
		if !same {
			return "", agent.Errorf("role-exists", "There is a role %s already.", p.Name)
		}
		return "", nil
	}
	var options []string
	if p.PasswordHash != "" {
		options = append(options, "HASHED PASSWORD = "+quotedText(p.PasswordHash))
	}
	if p.CanLogin != nil {
		options = append(options, "LOGIN = "+boolean(*p.CanLogin))
	}
	if p.IsSuperuser != nil {
		options = append(options, "SUPERUSER = "+boolean(*p.IsSuperuser))
	}
	verb := "ALTER ROLE "
	if p.Action == "create" {
		verb = "CREATE ROLE IF NOT EXISTS "
	}
	if len(options) == 0 {
		return verb + quotedName(p.Name), nil
	}
	return verb + quotedName(p.Name) + " WITH " + strings.Join(options, " AND "), nil
}

func boolean(value bool) string {
	if value {
		return "true"
	}
	return "false"
}

func isTrue(value *bool) bool { return value != nil && *value }

func unknownRole(name string) error {
	return agent.Errorf("unknown-role", "There is no role %s.", name)
}

func (e *Engine) changeRole(ctx context.Context, parameters RoleChange, report agent.Report) (Nothing, error) {
	return Nothing{}, e.access(ctx, func(ctx context.Context, conn *cql.Conn, control string) error {
		report(0.2, "Changing the role")
		roles, err := readRoles(ctx, conn)
		if err != nil {
			return err
		}
		statement, err := parameters.statement(roles, control)
		if err != nil {
			return err
		}
		if statement != "" {
			if _, err := conn.Query(ctx, cql.LocalQuorum, statement); err != nil {
				return err
			}
		}
		if parameters.Action != "drop" {
			if err := e.limitAddresses(ctx, conn, parameters.Name); err != nil {
				return err
			}
		}
		e.forgetRoles(ctx)
		return nil
	})
}

// GrantParameters are those of the jobs grant and revoke: permissions on a resource, or membership of another role.
type GrantParameters struct {
	Role        string   `json:"role"`
	Permissions []string `json:"permissions,omitempty"`
	Resource    string   `json:"resource,omitempty"`
	MemberOf    string   `json:"member_of,omitempty"`
}

func (p GrantParameters) check() error {
	if err := checkRoleName("role", p.Role); err != nil {
		return err
	}
	switch {
	case p.MemberOf != "" && p.Resource == "" && len(p.Permissions) == 0:
		return checkRoleName("member_of", p.MemberOf)
	case p.MemberOf == "" && p.Resource != "" && len(p.Permissions) > 0:
		resource, err := parseResource(p.Resource)
		if err == nil {
			_, err = resource.permissions(p.Permissions)
		}
		return err
	}
	return agent.Errorf("invalid-parameters", "give either permissions and resource, or member_of")
}

func (e *Engine) grant(ctx context.Context, parameters GrantParameters, report agent.Report) (Nothing, error) {
	return Nothing{}, e.changeGrants(ctx, parameters, "GRANT %s ON %s TO %s", report)
}

func (e *Engine) revoke(ctx context.Context, parameters GrantParameters, report agent.Report) (Nothing, error) {
	return Nothing{}, e.changeGrants(ctx, parameters, "REVOKE %s ON %s FROM %s", report)
}

func (e *Engine) changeGrants(ctx context.Context, parameters GrantParameters, form string, report agent.Report) error {
	granting := strings.HasPrefix(form, "GRANT")
	return e.access(ctx, func(ctx context.Context, conn *cql.Conn, control string) error {
		report(0.2, "Changing what the role may do")
		roles, err := readRoles(ctx, conn)
		if err != nil {
			return err
		}
		for _, name := range []string{parameters.Role, parameters.MemberOf} {
			if name == control {
				return agent.Errorf("role-protected", "%s belongs to the machinery and cannot be changed.", name)
			}
			if _, exists := roles[name]; !exists && name != "" {
				return unknownRole(name)
			}
		}
		var statements []string
		if parameters.MemberOf != "" {
			statements, err = membership(roles, parameters.Role, parameters.MemberOf, granting)
		} else {
			statements, err = permissionStatements(ctx, conn, parameters, form, control)
		}
		if err != nil {
			return err
		}
		for _, statement := range statements {
			if _, err := conn.Query(ctx, cql.LocalQuorum, statement); err != nil {
				return err
			}
		}
		e.forgetRoles(ctx)
		return nil
	})
}

func permissionStatements(ctx context.Context, conn *cql.Conn, parameters GrantParameters, form, control string) ([]string, error) {
	resource, err := parseResource(parameters.Resource)
	if err != nil {
		return nil, err
	}
	if resource.kind == oneRole && resource.name == control {
		return nil, agent.Errorf("role-protected", "%s belongs to the machinery; nobody is given a say in it.", control)
	}
	permissions, err := resource.permissions(parameters.Permissions)
	if err != nil {
		return nil, err
	}
	if err := resource.mustExist(ctx, conn); err != nil {
		return nil, err
	}
	var statements []string
	for _, permission := range permissions {
		statements = append(statements, fmt.Sprintf(form, permission, resource.statement(), quotedName(parameters.Role)))
	}
	return statements, nil
}

// membership is the statement that makes or ends a membership; none when there is nothing to do. Error code:
// membership-cycle.
func membership(roles map[string]role, member, of string, granting bool) ([]string, error) {
	direct := slices.Contains(roles[member].memberOf, of)
	switch {
	case direct == granting:
		return nil, nil
	case !granting:
		return []string{"REVOKE " + quotedName(of) + " FROM " + quotedName(member)}, nil
	case member == of || reaches(roles, of, member):
		return nil, agent.Errorf("membership-cycle", "%s is, directly or through others, a member of %s.", of, member)
	case reaches(roles, member, of):
		// The engine refuses what is there already by way of another role.
		return nil, nil
	}
	return []string{"GRANT " + quotedName(of) + " TO " + quotedName(member)}, nil
}

// reaches tells whether a role is a member of another, directly or through others.
func reaches(roles map[string]role, from, to string) bool {
	seen := map[string]bool{}
	open := []string{from}
	for len(open) > 0 {
		next := open[0]
		open = open[1:]
		for _, above := range roles[next].memberOf {
			if above == to {
				return true
			}
			if !seen[above] {
				seen[above] = true
				open = append(open, above)
			}
		}
	}
	return false
}
