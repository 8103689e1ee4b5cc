package cassandra

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
)

// defaultSuperuser is the role, and its password, that every new ring is born with.
const defaultSuperuser = "cassandra"

const (
	secureWithin = 2 * time.Minute
	retryPause   = 50 * time.Millisecond
)

// SecureParameters are those of the job secure. Hashes are bcrypt with the prefix $2a$.
type SecureParameters struct {
	AdminUsername       string `json:"admin_username"`
	AdminPasswordHash   string `json:"admin_password_hash"`
	ControlUsername     string `json:"control_username"`
	ControlPassword     string `json:"control_password"`
	ControlPasswordHash string `json:"control_password_hash"`
	Datacenter          string `json:"datacenter"`
	// SystemAuthReplication is for roles and passwords, Replication for the control plane's own keyspace.
	SystemAuthReplication int `json:"system_auth_replication"`
	Replication           int `json:"replication"`
}

var (
	roleForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	hashForm = regexp.MustCompile(`^\$2a\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}$`)
)

func (p SecureParameters) check() error {
	switch {
	case !roleForm.MatchString(p.AdminUsername) || !roleForm.MatchString(p.ControlUsername):
		return agent.Errorf("invalid-parameters", "usernames must be 1 to 48 of a-z, 0-9 and _, starting with a letter")
	case p.AdminUsername == defaultSuperuser || p.ControlUsername == defaultSuperuser || p.AdminUsername == p.ControlUsername:
		return agent.Errorf("invalid-parameters", "usernames must differ from each other and from %q", defaultSuperuser)
	case !hashForm.MatchString(p.AdminPasswordHash) || !hashForm.MatchString(p.ControlPasswordHash):
		return agent.Errorf("invalid-parameters", "password hashes must be bcrypt with the prefix $2a$")
	case p.ControlPassword == "":
		return agent.Errorf("invalid-parameters", "control_password is missing")
	case !nameForm.MatchString(p.Datacenter):
		return agent.Errorf("invalid-parameters", "datacenter is missing or odd")
	case p.SystemAuthReplication < 1 || p.Replication < 1:
		return agent.Errorf("invalid-parameters", "replication must be at least 1")
	}
	return nil
}

func (p SecureParameters) control() Account {
	return Account{Username: p.ControlUsername, Password: p.ControlPassword}
}

// secure makes the ring the customer's. It can be repeated from any point: the default superuser's own end is its last
// statement, so whoever can still log in as it has all before that to do again, which does no harm; whoever cannot, and
// can as the control account, finds it done.
func (e *Engine) secure(ctx context.Context, parameters SecureParameters, report agent.Report) (Nothing, error) {
	if err := e.running(); err != nil {
		return Nothing{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, secureWithin, agent.Errorf("secure-timeout", "The roles could not be made in time."))
	defer cancel()
	report(0.1, "Waiting for the ring's first role")
	var conn *cql.Conn
	defer func() {
		if conn != nil {
			conn.Close()
		}
	}()
	err := untilPassed(ctx, func() (err error) {
		// A login as the default superuser is dear; one serves for all tries unless the engine was started anew.
		if conn == nil || conn.Broken() != nil {
			if conn, err = e.bornOrDone(ctx, parameters); err != nil || conn == nil {
				return err
			}
		}
		report(0.3, "Making roles")
		return takeOver(ctx, conn, parameters)
	})
	if err != nil {
		return Nothing{}, err
	}
	report(0.9, "Logging in as the control account")
	return Nothing{}, untilPassed(ctx, func() error {
		_, err := e.control.use(ctx, parameters.control())
		return err
	})
}

// bornOrDone logs in as the default superuser. The connection is nil when that is gone and all is done.
func (e *Engine) bornOrDone(ctx context.Context, parameters SecureParameters) (*cql.Conn, error) {
	for {
		conn, err := e.dial(ctx, Account{Username: defaultSuperuser, Password: defaultSuperuser})
		if err == nil {
			return conn, nil
		}
		if cql.Code(err) == cql.CodeBadCredentials {
			// Not born yet, or gone.
			if _, err := e.control.use(ctx, parameters.control()); err == nil {
				return nil, nil
			}
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err := e.running(); err != nil {
			return nil, err
		}
		if err := pause(ctx, retryPause); err != nil {
			return nil, err
		}
	}
}

// takeOver makes roles and keyspace, then ends the default superuser.
func takeOver(ctx context.Context, conn *cql.Conn, parameters SecureParameters) error {
	admin, control := parameters.AdminUsername, parameters.ControlUsername
	roles, err := superusers(ctx, conn)
	if err != nil {
		return err
	}
	for role, super := range roles {
		if super && role != admin && role != control && role != defaultSuperuser {
			return agent.Errorf("unexpected-superuser", "There is a superuser %s that nobody ordered.", role)
		}
	}
	statements := []string{
		inDatacenter("ALTER KEYSPACE", "system_auth", parameters.Datacenter, parameters.SystemAuthReplication),
		inDatacenter("CREATE KEYSPACE IF NOT EXISTS", "ringmaster", parameters.Datacenter, parameters.Replication),
		"CREATE TABLE IF NOT EXISTS ringmaster.proof (key text, node text, written_at timestamp, PRIMARY KEY (key, node))" +
			" WITH default_time_to_live = 604800",
		createCanary,
		makeRole(roles, admin, "SUPERUSER = true AND LOGIN = true", parameters.AdminPasswordHash),
		// It must be able to grant whatever a role may be granted, and one can grant only what one may do oneself.
		makeRole(roles, control, "SUPERUSER = true AND LOGIN = true", parameters.ControlPasswordHash),
	}
	for _, statement := range statements {
		if _, err := conn.Query(ctx, cql.Quorum, statement); err != nil {
			return err
		}
	}
	return endDefaultSuperuser(ctx, conn)
}

// superusers are all roles, and whether each is one.
func superusers(ctx context.Context, conn *cql.Conn) (map[string]bool, error) {
	rows, err := conn.Query(ctx, cql.Quorum, "SELECT role, is_superuser FROM system_auth.roles")
	if err != nil {
		return nil, err
	}
	roles := map[string]bool{}
	for _, row := range rows {
		roles[row.Text("role")] = row.Bool("is_superuser")
	}
	return roles, nil
}

func inDatacenter(verb, keyspace, datacenter string, factor int) string {
	return fmt.Sprintf("%s %s WITH replication = {'class': 'NetworkTopologyStrategy', '%s': %d}", verb, keyspace, datacenter, factor)
}

func makeRole(existing map[string]bool, role, options, hash string) string {
	verb := "CREATE"
	if _, exists := existing[role]; exists {
		verb = "ALTER"
	}
	return fmt.Sprintf("%s ROLE %s WITH %s AND HASHED PASSWORD = '%s'", verb, role, options, hash)
}

// endDefaultSuperuser deletes the role by its rows. DROP ROLE is refused to the role itself, and a second superuser that
// could say it would need an end of its own. The rows are those DROP ROLE deletes: what the role was granted by making
// things, the index of that, and the role. One batch at ALL: no replica keeps it, and it happens wholly or not at all.
func endDefaultSuperuser(ctx context.Context, conn *cql.Conn) error {
	granted, err := conn.Query(ctx, cql.Quorum, "SELECT resource FROM system_auth.role_permissions WHERE role = '"+defaultSuperuser+"'")
	if err != nil {
		return err
	}
	var batch strings.Builder
	batch.WriteString("BEGIN BATCH ")
	var resources []any
	for _, row := range granted {
		batch.WriteString("DELETE FROM system_auth.resource_role_permissons_index WHERE resource = ? AND role = '" + defaultSuperuser + "'; ")
		resources = append(resources, row.Text("resource"))
	}
	batch.WriteString("DELETE FROM system_auth.role_permissions WHERE role = '" + defaultSuperuser + "'; ")
	batch.WriteString("DELETE FROM system_auth.roles WHERE role = '" + defaultSuperuser + "'; APPLY BATCH")
	_, err = conn.Query(ctx, cql.All, batch.String(), resources...)
	return err
}

// untilPassed repeats what fails for a passing reason, such as a node that is not up yet.
func untilPassed(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || !(cql.Passing(err) || settling(err)) || ctx.Err() != nil {
			return err
		}
		if waited := pause(ctx, retryPause); waited != nil {
			return fmt.Errorf("%w; last: %w", waited, err)
		}
	}
}

// settling tells whether the engine only waits to hear of each node that it has joined: so long it changes no replication.
func settling(err error) bool {
	return cql.Code(err) == cql.CodeConfiguration && strings.Contains(err.Error(), "not in normal state")
}

// RotateParameters are those of the job rotate-password.
type RotateParameters struct {
	Username     string `json:"username"`
	PasswordHash string `json:"password_hash"`
	// The control account; when left out, the one that the agent remembers.
	ControlUsername string `json:"control_username"`
	ControlPassword string `json:"control_password"`
}

func (p RotateParameters) check() error {
	if !roleForm.MatchString(p.Username) || !hashForm.MatchString(p.PasswordHash) {
		return agent.Errorf("invalid-parameters", "username must be a role's name and password_hash bcrypt with the prefix $2a$")
	}
	return nil
}

func (e *Engine) rotatePassword(ctx context.Context, parameters RotateParameters, report agent.Report) (Nothing, error) {
	if err := e.running(); err != nil {
		return Nothing{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, agent.Errorf("rotate-timeout", "The password could not be changed in time."))
	defer cancel()
	report(0.1, "Changing the password")
	return Nothing{}, untilPassed(ctx, func() error {
		conn, err := e.login(ctx, parameters.ControlUsername, parameters.ControlPassword)
		if err != nil {
			return err
		}
		statement := fmt.Sprintf("ALTER ROLE %s WITH HASHED PASSWORD = '%s'", parameters.Username, parameters.PasswordHash)
		_, err = conn.Query(ctx, cql.Quorum, statement)
		return err
	})
}

// login uses the account given, or the one remembered when the name is empty.
func (e *Engine) login(ctx context.Context, username, password string) (*cql.Conn, error) {
	if username == "" {
		return e.control.again(ctx)
	}
	return e.control.use(ctx, Account{Username: username, Password: password})
}
