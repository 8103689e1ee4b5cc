package cluster

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// model is a cluster as the configuration and the state have it.
type model struct {
	ID                    types.String  `tfsdk:"id"`
	Name                  types.String  `tfsdk:"name"`
	Engine                types.String  `tfsdk:"engine"`
	EngineVersion         types.String  `tfsdk:"engine_version"`
	Cloud                 types.String  `tfsdk:"cloud"`
	CloudAccount          types.String  `tfsdk:"cloud_account"`
	Datacenters           types.List    `tfsdk:"datacenters"`
	Settings              types.Dynamic `tfsdk:"settings"`
	Tags                  types.Map     `tfsdk:"tags"`
	ImageBuild            types.String  `tfsdk:"image_build"`
	TerminationProtection types.Bool    `tfsdk:"termination_protection"`
	Healing               types.Object  `tfsdk:"healing"`
	MaintenanceWindows    types.List    `tfsdk:"maintenance_windows"`
	State                 types.String  `tfsdk:"state"`
	CreatedAt             types.String  `tfsdk:"created_at"`
}

type datacenterModel struct {
	Region       types.String `tfsdk:"region"`
	Zones        types.Set    `tfsdk:"zones"`
	MachineType  types.String `tfsdk:"machine_type"`
	NodesPerZone types.Int64  `tfsdk:"nodes_per_zone"`
}

type healingModel struct {
	Mode               types.String `tfsdk:"mode"`
	GraceSeconds       types.Int64  `tfsdk:"grace_seconds"`
	ReplacementsPerDay types.Int64  `tfsdk:"replacements_per_day"`
}

type windowModel struct {
	Weekdays      types.Set    `tfsdk:"weekdays"`
	StartsAt      types.String `tfsdk:"starts_at"`
	Minutes       types.Int64  `tfsdk:"minutes"`
	TimeZone      types.String `tfsdk:"time_zone"`
	ExcludedDates types.Set    `tfsdk:"excluded_dates"`
}

var (
	texts          = types.SetType{ElemType: types.StringType}
	datacenterType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"region": types.StringType, "zones": texts, "machine_type": types.StringType, "nodes_per_zone": types.Int64Type,
	}}
	healingType = map[string]attr.Type{
		"mode": types.StringType, "grace_seconds": types.Int64Type, "replacements_per_day": types.Int64Type,
	}
	windowType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"weekdays": texts, "starts_at": types.StringType, "minutes": types.Int64Type, "time_zone": types.StringType, "excluded_dates": texts,
	}}
)

// To the API

func (m model) datacenters(ctx context.Context, found *diag.Diagnostics) []datacenter {
	var models []datacenterModel
	found.Append(m.Datacenters.ElementsAs(ctx, &models, false)...)
	made := make([]datacenter, 0, len(models))
	for _, each := range models {
		one := datacenter{Region: each.Region.ValueString(), MachineType: each.MachineType.ValueString(), NodesPerZone: each.NodesPerZone.ValueInt64()}
		found.Append(each.Zones.ElementsAs(ctx, &one.Zones, false)...)
		slices.Sort(one.Zones)
		made = append(made, one)
	}
	if len(made) == 0 {
		found.AddAttributeError(path.Root("datacenters"), "No data centre", "A cluster has at least one data centre: name its region, zones, machine_type and nodes_per_zone.")
	}
	return made
}

func (m model) tags(ctx context.Context, found *diag.Diagnostics) map[string]string {
	tags := map[string]string{}
	if !m.Tags.IsNull() {
		found.Append(m.Tags.ElementsAs(ctx, &tags, false)...)
	}
	return tags
}

// healing leaves out what is not known, which then stays as it is.
func (m model) healing(ctx context.Context, found *diag.Diagnostics) healing {
	var given healingModel
	if m.Healing.IsNull() || m.Healing.IsUnknown() {
		return healing{}
	}
	found.Append(m.Healing.As(ctx, &given, basetypes.ObjectAsOptions{})...)
	return healing{Mode: given.Mode.ValueString(), GraceSeconds: known(given.GraceSeconds), ReplacementsPerDay: known(given.ReplacementsPerDay)}
}

func known(value types.Int64) *int64 {
	if value.IsUnknown() {
		return nil
	}
	return value.ValueInt64Pointer()
}

func (m model) windows(ctx context.Context, found *diag.Diagnostics) windows {
	var models []windowModel
	if !m.MaintenanceWindows.IsNull() {
		found.Append(m.MaintenanceWindows.ElementsAs(ctx, &models, false)...)
	}
	made := windows{Windows: []window{}}
	for _, each := range models {
		one := window{
			StartsAt: each.StartsAt.ValueString(), Minutes: each.Minutes.ValueInt64(), TimeZone: each.TimeZone.ValueString(), ExcludedDates: []string{},
		}
		found.Append(each.Weekdays.ElementsAs(ctx, &one.Weekdays, false)...)
		if !each.ExcludedDates.IsNull() {
			found.Append(each.ExcludedDates.ElementsAs(ctx, &one.ExcludedDates, false)...)
		}
		made.Windows = append(made.Windows, one)
	}
	made.sort()
	return made
}

func (m model) settings() map[string]any {
	if made, is := value(m.Settings).(map[string]any); is {
		return made
	}
	return map[string]any{}
}

func (m model) order(ctx context.Context, found *diag.Diagnostics) order {
	made := order{
		Name: m.Name.ValueString(), Engine: m.Engine.ValueString(), EngineVersion: text(m.EngineVersion), Provider: m.Cloud.ValueString(),
		CloudAccount: text(m.CloudAccount), ImageBuild: text(m.ImageBuild), Options: options{Tags: m.tags(ctx, found)},
		TerminationProtection: m.TerminationProtection.ValueBool(), Healing: m.healing(ctx, found),
	}
	if all := m.datacenters(ctx, found); len(all) > 0 {
		made.datacenter = all[0]
	}
	return made
}

func (m model) update(ctx context.Context, found *diag.Diagnostics) update {
	return update{
		Name: m.Name.ValueString(), Tags: m.tags(ctx, found), ImageBuild: m.ImageBuild.ValueString(),
		TerminationProtection: m.TerminationProtection.ValueBool(), Healing: m.healing(ctx, found),
	}
}

func (m model) desired(ctx context.Context, found *diag.Diagnostics) desired {
	return desired{
		Kind: "desired_state", Engine: m.Engine.ValueString(), Provider: m.Cloud.ValueString(), CloudAccount: m.CloudAccount.ValueString(),
		Datacenters: m.datacenters(ctx, found), EngineVersion: text(m.EngineVersion), Settings: m.settings(),
	}
}

// text is nil where nothing is wanted, or it is not known yet what.
func text(of types.String) *string {
	if of.IsNull() || of.IsUnknown() {
		return nil
	}
	return of.ValueStringPointer()
}

// From the API

// take makes the model what the server says. What the configuration leaves out and the server has not stays left out.
func (m *model) take(ctx context.Context, of document, found *diag.Diagnostics) {
	m.ID, m.Name, m.State = types.StringValue(of.ID), types.StringValue(of.Name), types.StringValue(of.State)
	m.Engine, m.EngineVersion, m.Cloud = types.StringValue(of.Engine), types.StringValue(of.EngineVersion), types.StringValue(of.Provider)
	m.CloudAccount, m.ImageBuild = types.StringNull(), types.StringPointerValue(of.ImageBuild)
	if of.CloudAccount != nil {
		m.CloudAccount = types.StringValue(of.CloudAccount.ID)
	}
	m.TerminationProtection, m.CreatedAt = types.BoolValue(of.TerminationProtection), types.StringValue(of.CreatedAt)
	m.takeDatacenters(ctx, of.Datacenters, found)
	if len(of.Options.Tags) > 0 || !m.Tags.IsNull() {
		made, said := types.MapValueFrom(ctx, types.StringType, of.Options.Tags)
		found.Append(said...)
		m.Tags = made
	}
	if !same(m.settings(), of.Settings) || m.Settings.IsUnknown() {
		m.Settings = types.DynamicNull()
		if len(of.Settings) > 0 {
			m.Settings = types.DynamicValue(made(ctx, any(of.Settings)))
		}
	}
	object, said := types.ObjectValueFrom(ctx, healingType, healingModel{
		Mode: types.StringValue(of.Healing.Mode), GraceSeconds: types.Int64PointerValue(of.Healing.GraceSeconds),
		ReplacementsPerDay: types.Int64PointerValue(of.Healing.ReplacementsPerDay),
	})
	found.Append(said...)
	m.Healing = object
}

// takeDatacenters keeps the order of the configuration: the server's is that in which they came.
func (m *model) takeDatacenters(ctx context.Context, of []datacenter, found *diag.Diagnostics) {
	var before []string
	if !m.Datacenters.IsNull() {
		for _, each := range m.datacenters(ctx, found) {
			before = append(before, each.Region)
		}
	}
	place := func(one datacenter) int {
		if index := slices.Index(before, one.Region); index >= 0 {
			return index
		}
		return len(before)
	}
	sorted := slices.Clone(of)
	slices.SortStableFunc(sorted, func(a, b datacenter) int { return place(a) - place(b) })
	models := []datacenterModel{}
	for _, each := range sorted {
		zones, said := types.SetValueFrom(ctx, types.StringType, each.Zones)
		found.Append(said...)
		models = append(models, datacenterModel{
			Region: types.StringValue(each.Region), Zones: zones, MachineType: types.StringValue(each.MachineType), NodesPerZone: types.Int64Value(each.NodesPerZone),
		})
	}
	list, said := types.ListValueFrom(ctx, datacenterType, models)
	found.Append(said...)
	m.Datacenters = list
}

func (m *model) takeWindows(ctx context.Context, of windows, found *diag.Diagnostics) {
	if m.MaintenanceWindows.IsNull() && len(of.Windows) == 0 {
		m.MaintenanceWindows = types.ListNull(windowType)
		return
	}
	of.sort()
	if !m.MaintenanceWindows.IsNull() && reflect.DeepEqual(m.windows(ctx, found), of) {
		return
	}
	models := []windowModel{}
	for _, each := range of.Windows {
		weekdays, said := types.SetValueFrom(ctx, types.StringType, each.Weekdays)
		found.Append(said...)
		dates := types.SetNull(types.StringType)
		if len(each.ExcludedDates) > 0 {
			dates, said = types.SetValueFrom(ctx, types.StringType, each.ExcludedDates)
			found.Append(said...)
		}
		models = append(models, windowModel{
			Weekdays: weekdays, StartsAt: types.StringValue(each.StartsAt), Minutes: types.Int64Value(each.Minutes),
			TimeZone: types.StringValue(each.TimeZone), ExcludedDates: dates,
		})
	}
	list, said := types.ListValueFrom(ctx, windowType, models)
	found.Append(said...)
	m.MaintenanceWindows = list
}

// same compares as JSON does: 7 and 7.0 are one number.
func same(a, b map[string]any) bool {
	left, _ := json.Marshal(a)
	right, _ := json.Marshal(b)
	var one, other any
	_, _ = json.Unmarshal(left, &one), json.Unmarshal(right, &other)
	return reflect.DeepEqual(one, other)
}
