package scylla

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cql"
	"ringmaster/agent/statefile"
)

const (
	secureWithin = 2 * time.Minute
	accessWithin = time.Minute
	retryPause   = 200 * time.Millisecond
)

var (
	roleForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
	hashForm = regexp.MustCompile(`^\$2a\$(0[4-9]|[12][0-9]|3[01])\$[./A-Za-z0-9]{53}$`)
)

// account is a name and a password for the engine.
type account struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

func (e *Engine) controlPath() string { return filepath.Join(e.place.root, "control.json") }

// control logs in with the account given, and remembers it; with the one remembered when it is empty. Error code:
// control-unknown.
func (e *Engine) control(ctx context.Context, given account) (session, error) {
	var known account
	if err := statefile.ReadJSON(e.controlPath(), &known); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if given.Username == "" {
		if known.Username == "" {
			return nil, agent.Errorf("control-unknown", "This agent does not know the control account yet; it learns it from the jobs secure and prove.")
		}
		given = known
	}
	conn, err := e.dial(ctx, given.Username, given.Password)
	if err != nil || given == known {
		return conn, err
	}
	if err := statefile.WriteJSON(e.controlPath(), given); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// asControl does something over a session of the control account, again while it fails for a passing reason. Error codes:
// engine-not-running, control-unknown, control-refused, engine-refused, access-timeout and those of do.
func (e *Engine) asControl(ctx context.Context, do func(ctx context.Context, conn session) error) error {
	if err := e.isRunning(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, accessWithin, agent.Errorf("access-timeout", "The engine did not do it within %s.", accessWithin))
	defer cancel()
	return untilPassed(ctx, func() error {
		conn, err := e.control(ctx, account{})
		if err != nil {
			if cql.Code(err) == cql.CodeBadCredentials {
				return agent.Errorf("control-refused", "The engine does not accept the control account; was it dropped or given another password? %v", err)
			}
			return err
		}
		defer conn.Close()
		err = do(ctx, conn)
		if err == nil || cql.Code(err) == 0 || cql.Passing(err) {
			return err
		}
		return agent.Errorf("engine-refused", "%v", err)
	})
}

// untilPassed repeats what fails for a passing reason, such as a node that is not up yet.
func untilPassed(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || !cql.Passing(err) || ctx.Err() != nil {
			return err
		}
		if waited := pause(ctx, retryPause); waited != nil {
			return fmt.Errorf("%w; last: %w", waited, err)
		}
	}
}

// SecureParameters are those of the job secure. Hashes are bcrypt with the prefix $2a$.
type SecureParameters struct {
	AdminUsername       string `json:"admin_username"`
	AdminPasswordHash   string `json:"admin_password_hash"`
	ControlUsername     string `json:"control_username"`
	ControlPassword     string `json:"control_password"`
	ControlPasswordHash string `json:"control_password_hash"`
	Datacenter          string `json:"datacenter"`
	// SystemAuthReplication says nothing here: the engine keeps roles on every node.
	SystemAuthReplication int `json:"system_auth_replication"`
	// Replication is for the control plane's own keyspace.
	Replication int `json:"replication"`
}

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
	case p.Replication < 1:
		return agent.Errorf("invalid-parameters", "replication must be at least 1")
	}
	return nil
}

// secure makes the ring the customer's: two superusers, the customer's and the control account, and the one that every ring is
// born with ended, as the last statement. It can be repeated from any point.
func (e *Engine) secure(ctx context.Context, p SecureParameters, report agent.Report) (Nothing, error) {
	if err := e.isRunning(); err != nil {
		return Nothing{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, secureWithin, agent.Errorf("secure-timeout", "The roles could not be made in time."))
	defer cancel()
	own := account{Username: p.ControlUsername, Password: p.ControlPassword}
	for {
		report(0.1, "Making roles")
		err := e.takeOver(ctx, p, own)
		if err == nil {
			return Nothing{}, nil
		}
		// Until the engine has made its first role nobody can log in.
		if !cql.Passing(err) && cql.Code(err) != cql.CodeBadCredentials || ctx.Err() != nil {
			return Nothing{}, err
		}
		if err := e.isRunning(); err != nil {
			return Nothing{}, err
		}
		if waited := pause(ctx, retryPause); waited != nil {
			return Nothing{}, fmt.Errorf("%w; last: %w", waited, err)
		}
	}
}

func (e *Engine) takeOver(ctx context.Context, p SecureParameters, own account) error {
	if born, err := e.dial(ctx, defaultSuperuser, defaultSuperuser); err == nil {
		defer born.Close()
		if err := makeRoles(ctx, born, p); err != nil {
			return err
		}
	} else if cql.Code(err) != cql.CodeBadCredentials {
		return err
	}
	conn, err := e.control(ctx, own)
	if err != nil {
		return err
	}
	defer conn.Close()
	for _, statement := range []string{
		// Its rows are looked for node by node, so it is spread by tokens.
		fmt.Sprintf("CREATE KEYSPACE IF NOT EXISTS ringmaster WITH replication = {'class': 'NetworkTopologyStrategy', '%s': %d}"+
			" AND tablets = {'enabled': false}", p.Datacenter, p.Replication),
		"CREATE TABLE IF NOT EXISTS ringmaster.proof (key text, node text, written_at timestamp, PRIMARY KEY (key, node))" +
			" WITH default_time_to_live = 604800",
		createCanary,
		"DROP ROLE IF EXISTS " + defaultSuperuser,
	} {
		if _, err := conn.Query(ctx, cql.Quorum, statement); err != nil {
			return err
		}
	}
	return nil
}

func makeRoles(ctx context.Context, conn session, p SecureParameters) error {
	rows, err := conn.Query(ctx, cql.One, "SELECT role, is_superuser FROM system.roles")
	if err != nil {
		return err
	}
	known := []string{p.AdminUsername, p.ControlUsername, defaultSuperuser}
	for _, row := range rows {
		if row.Bool("is_superuser") && !slices.Contains(known, row.Text("role")) {
			return agent.Errorf("unexpected-superuser", "There is a superuser %s that nobody ordered.", row.Text("role"))
		}
	}
	for _, role := range []struct{ name, hash string }{{p.AdminUsername, p.AdminPasswordHash}, {p.ControlUsername, p.ControlPasswordHash}} {
		if _, err := conn.Query(ctx, cql.Quorum, createSuperuser(role.name, role.hash)); err != nil {
			return err
		}
	}
	return nil
}

func createSuperuser(name, hash string) string {
	return fmt.Sprintf("CREATE ROLE IF NOT EXISTS %s WITH HASHED PASSWORD = '%s' AND SUPERUSER = true AND LOGIN = true", name, hash)
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

// remaking is what must survive the agent while a role is away.
type remaking struct {
	Username string   `json:"username"`
	Members  []string `json:"members"`
}

// rotatePassword makes the administrator anew. The engine takes a hash only when a role is made, and a password in plain text never
// reaches a node. A superuser holds every permission by itself; who is a member of it is kept. Error codes: role-not-superuser,
// unknown-role, besides those of asControl.
func (e *Engine) rotatePassword(ctx context.Context, p RotateParameters, report agent.Report) (Nothing, error) {
	if p.ControlUsername != "" {
		conn, err := e.control(ctx, account{Username: p.ControlUsername, Password: p.ControlPassword})
		if err != nil {
			return Nothing{}, err
		}
		conn.Close()
	}
	report(0.1, "Making the role anew with the new password")
	return Nothing{}, e.asControl(ctx, func(ctx context.Context, conn session) error { return e.remake(ctx, conn, p) })
}

func (e *Engine) remake(ctx context.Context, conn session, p RotateParameters) error {
	kept := remaking{}
	path := filepath.Join(e.place.root, "remaking-role.json")
	if err := statefile.ReadJSON(path, &kept); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	roles, err := conn.Query(ctx, cql.One, "SELECT is_superuser FROM system.roles WHERE role = ?", p.Username)
	if err != nil {
		return err
	}
	switch {
	case kept.Username == p.Username:
		// Cut off half-way: who its members are is known from before.
	case len(roles) == 0:
		return agent.Errorf("unknown-role", "There is no role %s.", p.Username)
	case !roles[0].Bool("is_superuser"):
		return agent.Errorf("role-not-superuser", "%s is no superuser, so it cannot be made anew without losing permissions. Set its password over CQL.", p.Username)
	default:
		kept = remaking{Username: p.Username, Members: []string{}}
		rows, err := conn.Query(ctx, cql.One, "SELECT member FROM system.role_members WHERE role = ?", p.Username)
		if err != nil {
			return err
		}
		for _, row := range rows {
			kept.Members = append(kept.Members, row.Text("member"))
		}
		if err := statefile.WriteJSON(path, kept); err != nil {
			return err
		}
	}
	statements := []string{"DROP ROLE IF EXISTS " + p.Username, createSuperuser(p.Username, p.PasswordHash)}
	for _, member := range kept.Members {
		statements = append(statements, fmt.Sprintf("GRANT %s TO %s", p.Username, quotedName(member)))
	}
	for _, statement := range statements {
		if _, err := conn.Query(ctx, cql.Quorum, statement); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// quotedName is a name as CQL takes it whatever its case and letters.
func quotedName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
