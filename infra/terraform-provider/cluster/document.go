package cluster

import (
	"slices"

	"ringmaster/terraform-provider/client"
)

// What the API says and takes, as far as it is used here.

type document struct {
	ID            string `json:"id"`
	Name          string `json:"name"`
	State         string `json:"state"`
	Engine        string `json:"engine"`
	EngineVersion string `json:"engine_version"`
	Provider      string `json:"provider"`
	CloudAccount  *struct {
		ID string `json:"id"`
	} `json:"cloud_account"`
	Datacenters           []datacenter      `json:"datacenters"`
	ImageBuild            *string           `json:"image_build"`
	Options               options           `json:"options"`
	Settings              map[string]any    `json:"settings"`
	TerminationProtection bool              `json:"termination_protection"`
	Healing               healing           `json:"healing"`
	CreatedAt             string            `json:"created_at"`
	CurrentOperation      *client.Operation `json:"current_operation"`
	AllowedActions        []struct {
		Action  string `json:"action"`
		Allowed bool   `json:"allowed"`
		Reason  string `json:"reason"`
	} `json:"allowed_actions"`
}

type datacenter struct {
	Region       string   `json:"region"`
	Zones        []string `json:"zones"`
	MachineType  string   `json:"machine_type"`
	NodesPerZone int64    `json:"nodes_per_zone"`
}

type options struct {
	Tags map[string]string `json:"tags"`
}

type healing struct {
	Mode               string `json:"mode,omitempty"`
	GraceSeconds       *int64 `json:"grace_seconds,omitempty"`
	ReplacementsPerDay *int64 `json:"replacements_per_day,omitempty"`
}

type window struct {
	Weekdays      []string `json:"weekdays"`
	StartsAt      string   `json:"starts_at"`
	Minutes       int64    `json:"minutes"`
	TimeZone      string   `json:"time_zone"`
	ExcludedDates []string `json:"excluded_dates"`
}

type windows struct {
	Windows []window `json:"windows"`
}

// sort brings what has no order into one, to be compared.
func (w windows) sort() {
	for index := range w.Windows {
		slices.Sort(w.Windows[index].Weekdays)
		slices.Sort(w.Windows[index].ExcludedDates)
	}
}

// order is the body of create_cluster.
type order struct {
	Name          string  `json:"name"`
	Engine        string  `json:"engine"`
	EngineVersion *string `json:"engine_version,omitempty"`
	Provider      string  `json:"provider"`
	CloudAccount  *string `json:"cloud_account,omitempty"`
	datacenter
	ImageBuild            *string `json:"image_build,omitempty"`
	Options               options `json:"options"`
	TerminationProtection bool    `json:"termination_protection"`
	Healing               healing `json:"healing"`
}

// update is the body of update_cluster.
type update struct {
	Name                  string            `json:"name"`
	Tags                  map[string]string `json:"tags"`
	ImageBuild            string            `json:"image_build"`
	TerminationProtection bool              `json:"termination_protection"`
	Healing               healing           `json:"healing"`
}

// desired is the body of plan_change for all that takes an operation.
type desired struct {
	Kind          string         `json:"kind"`
	Engine        string         `json:"engine"`
	Provider      string         `json:"provider"`
	CloudAccount  string         `json:"cloud_account"`
	Datacenters   []datacenter   `json:"datacenters"`
	EngineVersion *string        `json:"engine_version,omitempty"`
	Settings      map[string]any `json:"settings"`
}

type plan struct {
	Possible           bool      `json:"possible"`
	Changes            []planned `json:"changes"`
	ExpectedSeconds    int64     `json:"expected_seconds"`
	CostPerMonthMicros *int64    `json:"cost_per_month_micros"`
}

type planned struct {
	Kind     string         `json:"kind"`
	Title    string         `json:"title"`
	Change   map[string]any `json:"change"`
	Field    string         `json:"field"`
	Code     string         `json:"code"`
	Reason   string         `json:"reason"`
	Hint     string         `json:"hint"`
	Impact   []string       `json:"impact"`
	Warnings []string       `json:"warnings"`
}

// waits tells whether the change is not possible only as long as something else works on the cluster.
func (p planned) waits() bool {
	return p.Code == "operation_in_progress" || p.Code == "cluster_not_active"
}

// check is the answer of check_cluster_order.
type check struct {
	ExpectedSeconds int64    `json:"expected_seconds"`
	NodesTotal      int64    `json:"nodes_total"`
	Warnings        []string `json:"warnings"`
	Cost            *struct {
		Month int64 `json:"month"`
	} `json:"cost"`
}

type started struct {
	Cluster   document         `json:"cluster"`
	Operation client.Operation `json:"operation"`
}
