// Package catalogue is the data sources of what can be ordered: ringmaster_regions, ringmaster_machine_types
// and ringmaster_engine_versions.
package catalogue

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type document struct {
	Providers []struct {
		ID      string `json:"id"`
		Regions []struct {
			Name  string   `json:"name"`
			Title string   `json:"title"`
			Zones []string `json:"zones"`
		} `json:"regions"`
		MachineTypes []struct {
			Name       string `json:"name"`
			VCPUs      *int64 `json:"vcpus"`
			MemoryMiB  int64  `json:"memory_mib"`
			StorageGiB *int64 `json:"storage_gib"`
		} `json:"machine_types"`
	} `json:"providers"`
	Engines []struct {
		Name     string `json:"name"`
		Versions []struct {
			Version string `json:"version"`
			Default bool   `json:"is_default"`
		} `json:"versions"`
	} `json:"engines"`
}

type regions struct {
	Cloud   types.String `tfsdk:"cloud"`
	Regions []region     `tfsdk:"regions"`
}

type region struct {
	Name  string   `tfsdk:"name"`
	Title string   `tfsdk:"title"`
	Zones []string `tfsdk:"zones"`
}

type machineTypes struct {
	Cloud        types.String  `tfsdk:"cloud"`
	MachineTypes []machineType `tfsdk:"machine_types"`
}

type machineType struct {
	Name       string `tfsdk:"name"`
	VCPUs      *int64 `tfsdk:"vcpus"`
	MemoryMiB  int64  `tfsdk:"memory_mib"`
	StorageGiB *int64 `tfsdk:"storage_gib"`
}

type versions struct {
	Engine   types.String `tfsdk:"engine"`
	Versions []string     `tfsdk:"versions"`
	Default  types.String `tfsdk:"default"`
}

var cloud = schema.StringAttribute{Required: true, MarkdownDescription: "`aws`, `gcp` or `local`."}

// NewRegions makes the data source ringmaster_regions.
func NewRegions() datasource.DataSource {
	return plain.Data[regions]{
		Name: "regions",
		Schema: schema.Schema{
			MarkdownDescription: "Regions in which clusters can be ordered.",
			Attributes: map[string]schema.Attribute{"cloud": cloud, "regions": list(map[string]schema.Attribute{
				"name": text("As in `datacenters`."), "title": text("For people."), "zones": texts("In their order."),
			})},
		},
		Read: func(ctx context.Context, c *client.Client, m *regions) error {
			found, err := read(ctx, c)
			m.Regions = []region{}
			for _, provider := range found.Providers {
				for _, one := range provider.Regions {
					if provider.ID == m.Cloud.ValueString() {
						m.Regions = append(m.Regions, region(one))
					}
				}
			}
			return err
		},
	}.DataSource()
}

// NewMachineTypes makes the data source ringmaster_machine_types.
func NewMachineTypes() datasource.DataSource {
	return plain.Data[machineTypes]{
		Name: "machine_types",
		Schema: schema.Schema{
			MarkdownDescription: "Machine types that can be ordered.",
			Attributes: map[string]schema.Attribute{"cloud": cloud, "machine_types": list(map[string]schema.Attribute{
				"name": text("As in `datacenters`."), "vcpus": number("Null: of this machine's."), "memory_mib": number("MiB."), "storage_gib": number("GiB of local disks."),
			})},
		},
		Read: func(ctx context.Context, c *client.Client, m *machineTypes) error {
			found, err := read(ctx, c)
			m.MachineTypes = []machineType{}
			for _, provider := range found.Providers {
				for _, one := range provider.MachineTypes {
					if provider.ID == m.Cloud.ValueString() {
						m.MachineTypes = append(m.MachineTypes, machineType(one))
					}
				}
			}
			return err
		},
	}.DataSource()
}

// NewVersions makes the data source ringmaster_engine_versions.
func NewVersions() datasource.DataSource {
	return plain.Data[versions]{
		Name: "engine_versions",
		Schema: schema.Schema{
			MarkdownDescription: "Versions of an engine that can be ordered.",
			Attributes: map[string]schema.Attribute{
				"engine":   schema.StringAttribute{Required: true, MarkdownDescription: "`cassandra` or `scylla`."},
				"versions": texts("As `engine_version` takes them."), "default": text("What is installed when none is named."),
			},
		},
		Read: func(ctx context.Context, c *client.Client, m *versions) error {
			found, err := read(ctx, c)
			m.Versions = []string{}
			for _, engine := range found.Engines {
				if engine.Name != m.Engine.ValueString() {
					continue
				}
				for _, one := range engine.Versions {
					m.Versions = append(m.Versions, one.Version)
					if one.Default {
						m.Default = types.StringValue(one.Version)
					}
				}
			}
			return err
		},
	}.DataSource()
}

func read(ctx context.Context, c *client.Client) (found document, err error) {
	err = c.Get(ctx, "/catalog", &found)
	return found, err
}

func text(description string) schema.StringAttribute {
	return schema.StringAttribute{Computed: true, MarkdownDescription: description}
}

func texts(description string) schema.ListAttribute {
	return schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: description}
}

func number(description string) schema.Int64Attribute {
	return schema.Int64Attribute{Computed: true, MarkdownDescription: description}
}

func list(attributes map[string]schema.Attribute) schema.ListNestedAttribute {
	return schema.ListNestedAttribute{Computed: true, NestedObject: schema.NestedAttributeObject{Attributes: attributes}, MarkdownDescription: "Those that there are."}
}
