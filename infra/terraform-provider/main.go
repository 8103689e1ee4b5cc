// The Terraform provider of Ringmaster. Terraform starts it; it is not run by hand.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"ringmaster/terraform-provider/provider"
)

// version is set at the build.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "wait for a debugger and say how Terraform finds this process")
	flag.Parse()
	options := providerserver.ServeOpts{Address: provider.Address, Debug: *debug}
	if err := providerserver.Serve(context.Background(), provider.New(version), options); err != nil {
		log.Fatal(err)
	}
}
