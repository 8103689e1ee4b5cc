// Package lists is the data sources that tell what a list of the API holds: one row of the table below each. Attributes are called as
// those of the resource.
package lists

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/plain"
)

// All makes them.
func All() []func() datasource.DataSource {
	made := []func() datasource.DataSource{}
	for _, one := range table {
		made = append(made, one.DataSource)
	}
	return made
}

var table = []plain.List{
	{
		Name: "alert_rules", About: "A cluster's alert rules, with what counts for it.", Listed: "clusters/{cluster_id}/alert-rules",
		Columns: []plain.Column{
			text("rule", "Its key: `node-down`."), text("title", "For people."), text("severity", "`info`, `warning` or `critical`."), text("unit", "Of `threshold`."),
			decimal("threshold", "In effect. Null: it says only yes or no."), number("for_seconds", "In effect: so long it must be so before it fires."),
			flag("enabled", "false: it never fires."), flag("changed", "Something about it is otherwise than usual."),
		},
	},
	{
		Name: "allowlist_entries", About: "From where a cluster may be reached. None: see `ringmaster_allowlist_entry`.", Listed: "clusters/{cluster_id}/allowlist", In: "entries",
		Columns: []plain.Column{text("cidr", "`10.0.0.0/8`."), text("description", "For people; may be empty.")},
	},
	{
		Name: "api_tokens", About: "API tokens: those of the token's owner, or, with `members:write`, of all. What they are is told by nobody.", Listed: "tokens",
		Columns: []plain.Column{
			text("id", "`tok_…`"), text("name", "For people; need not be unique."), texts("scopes", "What it may do as far as its holder may."),
			texts("source_ranges", "From where it may be used; empty: from everywhere."), text("state", "`active`, `expired` or `revoked`."),
			text("user_email", "Whose it is. Null: a service account's."), text("service_account_id", "Whose it is. Null: a person's.").From("service_account", "id"),
			text("created_at", "UTC."), text("expires_at", "UTC. Null: never."), text("last_used_at", "UTC, to the minute. Null: never."),
		},
	},
	{
		Name: "backup_locations", About: "Where backups go: the installation's and the organisation's own.", Listed: "backup-locations",
		Columns: []plain.Column{
			text("id", "`loc_…`, as `location_id` of `ringmaster_backup_schedule` and `ringmaster_backup` takes it."), text("name", "For people."),
			text("kind", "`folder`, `s3` or `gcs`."), text("address", "Folder, or bucket and prefix."), text("region", "Of a bucket of S3. Null: none was given."),
			text("endpoint", "Of an S3-compatible server. Null: Amazon's, Google's, or a folder."),
			text("object_lock", "How objects are locked in the store. Null: not at all."), flag("operators", "Of the installation, for everybody."),
		},
	},
	{
		Name: "backup_schedules", About: "When backups of a cluster are made and how long they are kept.", Listed: "clusters/{cluster_id}/backup-schedules",
		Each: func(of plain.Document) []plain.Document {
			of["selection"] = names(plain.Inner(of, "selection"))
			return []plain.Document{of}
		},
		Columns: []plain.Column{
			text("id", "`bsc_…`"), text("name", "For people."), text("cron", "Minute, hour, day of the month, month, day of the week. Null: it goes by `interval_minutes`."),
			number("interval_minutes", "Null: it goes by `cron`."), text("time_zone", "Of `cron`."),
			texts("keyspaces", "`shop`, or a table of it: `shop.orders`; empty: all tables that are not the engine's own.").From("selection"),
			text("location_id", "Where they go, `loc_…`."), text("second_location_id", "Complete ones are copied there. Null: nowhere."),
			number("keep_days", "Older ones go. Null: no matter how old."), number("keep_count", "So many complete ones stay. Null: all."),
			number("keep_after_deletion_days", "So long they stay after the cluster was deleted."), number("lock_days", "Nobody may delete one before. Null: not locked."),
			number("rate_mib_per_second", "Of each node. Null: as fast as it goes."), flag("enabled", "false: it makes none."), text("due_at", "When it makes the next one, UTC. Null: it does not."),
		},
	},
	{
		Name: "budgets", About: "What may be spent in a month.", Listed: "budgets",
		Columns: []plain.Column{
			text("id", "`bud_…`"), text("name", "For people."), number("micros", "For each month, in millionths of a US dollar."),
			text("cluster_id", "Of which cluster. Null: of the organisation, or by a tag.").From("cluster", "id"),
			text("tag_key", "Of clusters that have the tag. Null: not by a tag.").From("tag", "key"), text("tag_value", "Of that tag.").From("tag", "value"),
			numbers("spent_percents", "Told when so much is spent."), numbers("forecast_percents", "Told when so much will be spent by the end of the month."),
		},
	},
	{
		Name: "cloud_accounts", About: "Accounts at AWS and Google Cloud in which clusters are made.", Listed: "cloud-accounts",
		Columns: []plain.Column{
			text("id", "`acc_…`"), text("name", "For people; unique in the organisation."), text("cloud", "`aws` or `gcp`.").From("provider"),
			text("role_arn", "aws: the role that is taken on."), text("project", "gcp: id of the project."), flag("public_addresses", "Machines get one.").From("settings", "public_addresses"),
			text("networks", "IPv4 block that clusters' networks are cut from. Null: the installation's.").From("settings", "networks"),
			{Name: "vpcs", Type: types.MapType{ElemType: types.StringType}, About: "aws: VPCs of yours that are used, by region.", Keys: []string{"settings", "vpcs"}},
			text("external_id", "aws: what the role's trust must ask for."), text("service_account", "gcp: whom the control plane acts as."),
			text("state", "What the last check found: `ready`, `incomplete`, `refused` …").From("check", "state"),
		},
	},
	{
		Name: "cql_grants", About: "What roles of a cluster's database may do on its resources, as it was last read: what they were given themselves.",
		Listed: "clusters/{cluster_id}/roles", Each: grants,
		Columns: []plain.Column{text("role", "Name of the role."), text("resource", "`data`, `data/shop`, `data/shop/orders`, `roles/…` …"), texts("permissions", "`SELECT`, `MODIFY` …")},
	},
	{
		Name: "group_roles", About: "Roles by groups of identity providers.", Listed: "organisation/group-roles",
		Columns: []plain.Column{
			text("id", "`grl_…`"), text("identity_provider_id", "Whose group it is, `idp_…`.").From("identity_provider", "id"), text("group", "As the provider calls it."),
			text("role", "`owner`, `admin`, `operator`, `viewer` or `custom`."), text("custom_role_id", "With `custom`: which one.").From("custom_role", "id"),
			number("rank", "Who is in several groups has the role of the smallest rank."),
		},
	},
	{
		Name: "identity_providers", About: "Providers that people can sign in through. Whoever runs the installation adds them.", Listed: "session/identity-providers",
		Columns: []plain.Column{text("id", "`idp_…`, as `identity_provider_id` of `ringmaster_group_role` takes it."), text("name", "On its button of the sign-in page; unique in the installation.")},
	},
	{
		Name: "images", About: "Machine images that are registered.", Listed: "images",
		Filters: []plain.Filter{cloud},
		Columns: []plain.Column{
			text("id", "`img_…`"), text("state", "Whether new machines are made from it."), text("region", "Null: all."), text("engine", "What is on it."),
			text("engine_version", "Of the engine."), text("build_id", "As `image_build` takes it."), text("cloud_id", "As the cloud calls it."),
		},
	},
	{
		Name: "members", About: "The organisation's people.", Listed: "members",
		Columns: []plain.Column{
			text("id", "Of the membership."), text("email", "By which they sign in."), text("name", "For people."), text("role", "`owner`, `admin`, `operator`, `viewer` or `custom`."),
			text("custom_role_id", "With `custom`: which one.").From("custom_role", "id"),
		},
	},
	{
		Name: "notification_channels", About: "Who is told of alerts, budgets and operations: webhooks, too.", Listed: "alert-receivers",
		Columns: append([]plain.Column{text("kind", "`email`, `slack`, `webhook` or `pagerduty`.")}, receiver...),
	},
	{
		Name: "prices", About: "What costs are reckoned with.", Listed: "prices",
		Filters: []plain.Filter{cloud, {Name: "region", Query: "region", About: "Of one region."}, {Name: "item", Query: "item", About: "`machine`, `block_storage`, `traffic_out` …"}},
		Columns: []plain.Column{
			text("region", "Null: all of the cloud."), text("item", "What is paid for."), text("name", "Machine type or class of storage; may be empty."),
			text("term", "Of machines: `on_demand`, `reserved_1y` …"), text("unit", "What `micros` is paid for."),
			text("origin", "`operator`: this installation's, goes before all others; `published`: the cloud's list, as it was read; `list`: came with the product."),
			number("micros", "Millionths of a US dollar; of `markup`: of the cost. Null: the list's counts again."), text("valid_from", "UTC."),
			flag("assumption", "Nobody published it: a figure to begin with."),
		},
	},
	{
		Name: "private_endpoints", About: "Endpoints in a cluster's networks for services that somebody publishes.", Listed: "clusters/{cluster_id}/network-connections",
		Each:    ofKind("endpoint"),
		Columns: append([]plain.Column{text("service", "As the cloud names it."), texts("addresses", "At which it is reached.")}, connection...),
	},
	{
		Name: "restores", About: "What was restored into a cluster, latest first.", Listed: "clusters/{cluster_id}/restores",
		Each: func(of plain.Document) []plain.Document {
			of["tables"] = names(plain.Inner(of, "tables"))
			return []plain.Document{of}
		},
		Columns: []plain.Column{
			text("id", "`rst_…`"), text("backup_id", "Of which backup, `bkp_…`."), text("mode", "`replace`, `add`, `copy` or `cluster`."), texts("tables", "`shop.orders`, as the backup calls them."),
			text("point_in_time", "Until which moment, UTC. Null: as the backup has it."), flag("repair", "Its tables are repaired afterwards.").From("repair_wanted"),
			text("state", "`running`, `succeeded` or `cancelled`."), text("way_back_id", "Backup of what the tables held before. Null: none was made."), text("operation_id", "Of the restore."),
			text("created_at", "When it was ordered, UTC."), text("finished_at", "UTC. Null: it is running."),
		},
	},
	{
		Name: "roles", About: "Roles of the organisation's own. Those of a database are `ringmaster_cql_roles`.", Listed: "organisation/roles",
		Columns: []plain.Column{
			text("id", "`rol_…`"), text("name", "The only one of its name."), text("description", "For people; may be empty."), texts("permissions", "`clusters:read`, `operations:write` …"),
			{Name: "tags", Type: types.MapType{ElemType: types.ListType{ElemType: types.StringType}}, About: "Only for clusters that have one of the values of each key. Null: for all."},
		},
	},
	{
		Name: "service_accounts", About: "Accounts for programs, also those that are disabled.", Listed: "service-accounts",
		Each: func(of plain.Document) []plain.Document {
			of["disabled"] = of["disabled_at"] != nil
			return []plain.Document{of}
		},
		Columns: []plain.Column{
			text("id", "`sva_…`"), text("name", "The only one of its name."), text("description", "For people; may be empty."), text("contact", "E-mail address of whoever answers for it."),
			text("role", "`admin`, `operator`, `viewer` or `custom`."), text("custom_role_id", "With `custom`: which one.").From("custom_role", "id"), flag("disabled", "Its tokens ended, for good."),
		},
	},
	{
		Name: "vpc_peerings", About: "Networks of yours that a cluster's networks reach.", Listed: "clusters/{cluster_id}/network-connections",
		Each: ofKind("peering"),
		Columns: append([]plain.Column{
			text("peer_network", "AWS: id of the VPC. Google Cloud: name of the VPC network."), text("peer_owner", "AWS account or Google Cloud project of it; empty: the cluster's own."),
			text("peer_region", "AWS: its region; empty: that of the data centre."), texts("cidrs", "From where clients come through it."),
		}, connection...),
	},
	{
		Name: "webhooks", About: "Where what becomes of operations, alerts and budgets is posted. What signs is told by nobody.", Listed: "alert-receivers",
		Each: ofKind("webhook"), Columns: receiver,
	},
}

var cloud = plain.Filter{Name: "cloud", Query: "provider", About: "`aws`, `gcp` or `local`.", Required: true}

var receiver = []plain.Column{
	text("id", "`rcv_…`"), text("name", "For people."), texts("topics", "What it is told of."), text("severity", "The least severe that is told."),
	texts("cluster_ids", "Only of these; empty: of all."), flag("enabled", "false: it is told nothing new."), text("target", "Where to, without what is secret in it."),
}

var connection = []plain.Column{
	text("id", "`con_…`"), text("name", "Unique in the cluster."), text("datacenter", "Of the cluster."), text("provider_id", "As the cloud calls it. Null: not made yet."),
	text("state", "Whether the other side has accepted it, too."),
}

// ofKind leaves out what is of another kind, and what is gone.
func ofKind(kind string) func(plain.Document) []plain.Document {
	return func(of plain.Document) []plain.Document {
		if of["kind"] != kind || of["deleted_at"] != nil {
			return nil
		}
		return []plain.Document{of}
	}
}

// names are keyspaces, or tables with their keyspace: shop, shop.orders.
func names(of []plain.Document) []any {
	found := []any{}
	for _, one := range of {
		name, _ := one["keyspace"].(string)
		if table, is := one["table"].(string); is {
			name += "." + table
		}
		found = append(found, name)
	}
	return found
}

// grants gathers the permissions of a role by their resource, in the order in which the API tells them.
func grants(role plain.Document) []plain.Document {
	found, at := []plain.Document{}, map[any]int{}
	for _, one := range plain.Inner(role, "permissions") {
		index, is := at[one["resource"]]
		if !is {
			index, at[one["resource"]] = len(found), len(found)
			found = append(found, plain.Document{"role": role["name"], "resource": one["resource"], "permissions": []any{}})
		}
		found[index]["permissions"] = append(found[index]["permissions"].([]any), one["permission"])
	}
	return found
}

func text(name, about string) plain.Column {
	return plain.Column{Name: name, Type: types.StringType, About: about}
}
func number(name, about string) plain.Column {
	return plain.Column{Name: name, Type: types.Int64Type, About: about}
}
func decimal(name, about string) plain.Column {
	return plain.Column{Name: name, Type: types.Float64Type, About: about}
}
func flag(name, about string) plain.Column {
	return plain.Column{Name: name, Type: types.BoolType, About: about}
}
func texts(name, about string) plain.Column {
	return plain.Column{Name: name, Type: types.ListType{ElemType: types.StringType}, About: about}
}
func numbers(name, about string) plain.Column {
	return plain.Column{Name: name, Type: types.ListType{ElemType: types.Int64Type}, About: about}
}
