// Package backuplocation is the resource ringmaster_backup_location.
package backuplocation

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"ringmaster/terraform-provider/client"
	"ringmaster/terraform-provider/plain"
)

type model struct {
	ID                 types.String `tfsdk:"id"`
	Name               types.String `tfsdk:"name"`
	Kind               types.String `tfsdk:"kind"`
	Bucket             types.String `tfsdk:"bucket"`
	Prefix             types.String `tfsdk:"prefix"`
	Region             types.String `tfsdk:"region"`
	Endpoint           types.String `tfsdk:"endpoint"`
	ObjectLock         types.String `tfsdk:"object_lock"`
	AccessKeyID        types.String `tfsdk:"access_key_id"`
	SecretAccessKey    types.String `tfsdk:"secret_access_key"`
	ServiceAccount     types.String `tfsdk:"service_account"`
	CredentialsVersion types.Int64  `tfsdk:"credentials_version"`
	Address            types.String `tfsdk:"address"`
}

type document struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Kind       string  `json:"kind"`
	Region     string  `json:"region"`
	Endpoint   *string `json:"endpoint"`
	ObjectLock *string `json:"object_lock"`
	Address    string  `json:"address"`
	Operators  bool    `json:"operators"`
}

// New makes the resource.
func New() resource.Resource {
	const fixed = " Another one is refused."
	optional := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, MarkdownDescription: description + fixed}
	}
	secret := func(description string) schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Sensitive: true, WriteOnly: true, MarkdownDescription: description + " Write-only: it is in no plan and no state."}
	}
	return plain.Kind[model]{
		Name: "backup_location",
		Schema: schema.Schema{
			MarkdownDescription: "A bucket of yours to which backups go. It must be there already. It is tried once it is made: `ringmaster_backup_locations` and the console say with what outcome. One that holds backups, or that schedules put them to, is not removed: the server refuses. Destroying it only forgets it; nothing in the bucket is touched.",
			Attributes: map[string]schema.Attribute{
				"id":                  plain.ID("loc"),
				"name":                schema.StringAttribute{Required: true, MarkdownDescription: "For people; unique among the organisation's."},
				"kind":                schema.StringAttribute{Required: true, MarkdownDescription: "`s3` or `gcs`." + fixed},
				"bucket":              schema.StringAttribute{Required: true, MarkdownDescription: "Its name." + fixed},
				"prefix":              optional("Below which everything is kept, without a slash at either end. Left out: the whole bucket."),
				"region":              optional("s3: of the bucket. Left out: us-east-1, or a server without regions."),
				"endpoint":            optional("s3: of a server that speaks like it. Left out: Amazon's."),
				"object_lock":         optional("How the store itself keeps locked backups: `governance` or `compliance`. Left out: no locks in the store."),
				"access_key_id":       secret("s3: of a key that may list, read, write and delete below the prefix."),
				"secret_access_key":   secret("s3: of that key."),
				"service_account":     secret("gcs: the key of a service account, a JSON document as text."),
				"credentials_version": schema.Int64Attribute{Optional: true, MarkdownDescription: "Another number sends the credentials anew, which are tried at once. They are not watched otherwise."},
				"address":             schema.StringAttribute{Computed: true, MarkdownDescription: "Bucket and prefix, in words.", PlanModifiers: plain.Kept("").PlanModifiers},
			},
		},
		Secret: func(m, configuration *model) {
			if configuration == nil {
				configuration = &model{}
			}
			m.AccessKeyID, m.SecretAccessKey, m.ServiceAccount = configuration.AccessKeyID, configuration.SecretAccessKey, configuration.ServiceAccount
		},
		Create: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			var begun struct {
				Location document `json:"location"`
			}
			// Whether it can be written shows later: keys may get their rights by another resource of the same run.
			err := c.Post(ctx, "/backup-locations", m.order(), &begun)
			if err == nil {
				m.take(begun.Location)
			}
			return "", err
		},
		Read: func(ctx context.Context, c *client.Client, m *model) error {
			var now document
			err := c.Get(ctx, client.Path("backup-locations", m.ID.ValueString()), &now)
			switch {
			case err != nil:
				return err
			case now.Operators:
				return client.NotThere("backup location of your own of that id: " + now.Name + " is the installation's")
			}
			m.take(now)
			return nil
		},
		Update: func(ctx context.Context, c *client.Client, m *model, before model) (string, error) {
			body := map[string]any{"name": m.Name.ValueString()}
			if !m.CredentialsVersion.Equal(before.CredentialsVersion) {
				m.credentials(body)
			}
			return "", c.Patch(ctx, client.Path("backup-locations", m.ID.ValueString()), body, nil)
		},
		Delete: func(ctx context.Context, c *client.Client, m *model) (string, error) {
			return "", c.Delete(ctx, client.Path("backup-locations", m.ID.ValueString()), nil, nil)
		},
		Plan: func(_ context.Context, _ *client.Client, now, before *model, found *diag.Diagnostics) {
			if now == nil || before == nil {
				return
			}
			const reason = "What is in a location stays where it is. Write another `ringmaster_backup_location`, and have schedules put their backups there."
			for name, pair := range map[string][2]types.String{
				"kind": {now.Kind, before.Kind}, "bucket": {now.Bucket, before.Bucket}, "prefix": {now.Prefix, before.Prefix},
				"region": {now.Region, before.Region}, "endpoint": {now.Endpoint, before.Endpoint}, "object_lock": {now.ObjectLock, before.ObjectLock},
			} {
				if !pair[0].IsUnknown() && pair[0].ValueString() != pair[1].ValueString() {
					plain.Fixed(found, name, pair[0], types.StringValue(pair[1].ValueString()), reason)
				}
			}
		},
	}.Resource()
}

func (m *model) order() map[string]any {
	body := map[string]any{"kind": m.Kind.ValueString(), "name": m.Name.ValueString(), "bucket": m.Bucket.ValueString(), "prefix": m.Prefix.ValueString(), "object_lock": plain.Text(m.ObjectLock)}
	for name, one := range map[string]types.String{"region": m.Region, "endpoint": m.Endpoint} {
		if text := plain.Text(one); text != nil {
			body[name] = *text
		}
	}
	m.credentials(body)
	return body
}

func (m *model) credentials(body map[string]any) {
	for name, one := range map[string]types.String{"access_key_id": m.AccessKeyID, "secret_access_key": m.SecretAccessKey, "service_account": m.ServiceAccount} {
		if text := plain.Text(one); text != nil {
			body[name] = *text
		}
	}
}

// take reads bucket and prefix out of s3://bucket/prefix, as the API tells them.
func (m *model) take(of document) {
	m.ID, m.Name, m.Kind, m.Address = types.StringValue(of.ID), types.StringValue(of.Name), types.StringValue(of.Kind), types.StringValue(of.Address)
	_, place, _ := strings.Cut(of.Address, "://")
	bucket, prefix, _ := strings.Cut(place, "/")
	m.Bucket, m.Prefix = types.StringValue(bucket), said(prefix, m.Prefix)
	m.Region, m.Endpoint, m.ObjectLock = said(of.Region, m.Region), types.StringPointerValue(of.Endpoint), types.StringPointerValue(of.ObjectLock)
}

// said is null for nothing, unless the configuration says that in so many words.
func said(now string, before types.String) types.String {
	if now == "" && before.IsNull() {
		return before
	}
	return types.StringValue(now)
}
