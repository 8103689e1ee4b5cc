// Command pages writes docs/terraform/: a page for each resource and data source, from the provider's own schemas.
package main

import (
	"context"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/datasource"
	dataschema "github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	ringmaster "ringmaster/terraform-provider/provider"
)

// attribute is what all schemas' attributes have in common.
type attribute interface {
	GetMarkdownDescription() string
	GetType() attr.Type
	IsRequired() bool
	IsOptional() bool
	IsComputed() bool
	IsSensitive() bool
}

// page is what one is made of. sort is Resource, Data source, Ephemeral resource or Provider.
type page struct {
	sort, name, about string
	attributes        map[string]attribute
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: pages FOLDER")
	}
	if err := write(os.Args[1], all(context.Background())); err != nil {
		log.Fatal(err)
	}
}

func all(ctx context.Context) []page {
	const kind = "ringmaster"
	of := ringmaster.New("")()
	var settings provider.SchemaResponse
	of.Schema(ctx, provider.SchemaRequest{}, &settings)
	pages := []page{{"Provider", kind, settings.Schema.MarkdownDescription, plain(settings.Schema.Attributes)}}
	for _, make := range of.Resources(ctx) {
		var named resource.MetadataResponse
		var said resource.SchemaResponse
		one := make()
		one.Metadata(ctx, resource.MetadataRequest{ProviderTypeName: kind}, &named)
		one.Schema(ctx, resource.SchemaRequest{}, &said)
		pages = append(pages, page{"Resource", named.TypeName, said.Schema.MarkdownDescription, plain(said.Schema.Attributes)})
	}
	for _, make := range of.DataSources(ctx) {
		var named datasource.MetadataResponse
		var said datasource.SchemaResponse
		one := make()
		one.Metadata(ctx, datasource.MetadataRequest{ProviderTypeName: kind}, &named)
		one.Schema(ctx, datasource.SchemaRequest{}, &said)
		pages = append(pages, page{"Data source", named.TypeName, said.Schema.MarkdownDescription, plain(said.Schema.Attributes)})
	}
	if with, is := of.(provider.ProviderWithEphemeralResources); is {
		for _, make := range with.EphemeralResources(ctx) {
			var named ephemeral.MetadataResponse
			var said ephemeral.SchemaResponse
			one := make()
			one.Metadata(ctx, ephemeral.MetadataRequest{ProviderTypeName: kind}, &named)
			one.Schema(ctx, ephemeral.SchemaRequest{}, &said)
			pages = append(pages, page{"Ephemeral resource", named.TypeName, said.Schema.MarkdownDescription, plain(said.Schema.Attributes)})
		}
	}
	return pages
}

func plain[A attribute](of map[string]A) map[string]attribute {
	found := map[string]attribute{}
	for name, one := range of {
		found[name] = one
	}
	return found
}

// write makes the folder what is to be in it: pages of what is gone go.
func write(folder string, pages []page) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	index := []string{"# Reference of the Terraform provider", "", "Made by `make generate` from the provider's schemas. How to use it: [terraform.md](../terraform.md).", ""}
	last := ""
	for _, one := range pages {
		file := strings.ReplaceAll(strings.ToLower(one.sort), " ", "-") + "-" + strings.TrimPrefix(one.name, "ringmaster_") + ".md"
		if one.sort != last {
			index, last = append(index, "", "## "+one.sort, ""), one.sort
		}
		index = append(index, fmt.Sprintf("- [`%s`](%s)", one.name, file))
		if err := os.WriteFile(filepath.Join(folder, file), []byte(one.text()), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(folder, "README.md"), []byte(strings.Join(index, "\n")+"\n"), 0o644)
}

func (p page) text() string {
	lines := []string{"# " + p.sort + " `" + p.name + "`", "", p.about, "", "Made by `make generate` from the provider's schema.", ""}
	lines = append(lines, "| attribute | type | | |", "|---|---|---|---|")
	lines = append(lines, rows("", p.attributes)...)
	return strings.Join(lines, "\n") + "\n"
}

func rows(before string, of map[string]attribute) []string {
	lines := []string{}
	for _, name := range slices.Sorted(maps.Keys(of)) {
		one := of[name]
		words := []string{}
		switch {
		case one.IsRequired():
			words = append(words, "required")
		case one.IsOptional():
			words = append(words, "optional")
		default:
			words = append(words, "read")
		}
		if one.IsSensitive() {
			words = append(words, "sensitive")
		}
		description := strings.ReplaceAll(strings.ReplaceAll(one.GetMarkdownDescription(), "\n", " "), "|", "\\|")
		inner, many := nested(one)
		kind := word(one.GetType())
		if inner != nil {
			kind = "object"
		}
		if many {
			kind = "list of objects"
		}
		lines = append(lines, fmt.Sprintf("| `%s%s` | %s | %s | %s |", before, name, kind, strings.Join(words, ", "), description))
		mark := "."
		if many {
			mark = "[]."
		}
		lines = append(lines, rows(before+name+mark, inner)...)
	}
	return lines
}

// nested are the attributes within one, and whether there is a list of them.
func nested(of attribute) (map[string]attribute, bool) {
	switch it := of.(type) {
	case schema.ListNestedAttribute:
		return plain(it.NestedObject.Attributes), true
	case schema.SingleNestedAttribute:
		return plain(it.Attributes), false
	case dataschema.ListNestedAttribute:
		return plain(it.NestedObject.Attributes), true
	}
	return nil, false
}

func word(of attr.Type) string {
	switch it := of.(type) {
	case types.ListType:
		return "list of " + word(it.ElemType)
	case types.SetType:
		return "set of " + word(it.ElemType)
	case types.MapType:
		return "map of " + word(it.ElemType)
	}
	switch of {
	case types.StringType:
		return "string"
	case types.BoolType:
		return "bool"
	case types.Int64Type, types.Float64Type, types.NumberType:
		return "number"
	}
	return "any"
}
