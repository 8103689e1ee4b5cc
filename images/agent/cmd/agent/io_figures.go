package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"ringmaster/agent"
	"ringmaster/agent/cmd/agent/machine"
	"ringmaster/agent/ioproperties"
)

// ioFigures prints what the local disks of a machine type do together, or {"error": {"code", "message"}}. Codes: io-unknown,
// presets-unreadable.
func ioFigures(arguments []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("agent io-figures", flag.ContinueOnError)
	flags.SetOutput(problems)
	provider := flags.String("provider", "aws", "aws or gcp")
	machineType := flags.String("type", "", "machine type, for example i3.8xlarge (required)")
	disks := flags.Int("disks", 1, "how many local disks it has")
	presets := flags.String("presets", machine.DefaultPresets, "JSON file with what the disks of machine types do")
	if err := parseFlags(flags, arguments); err != nil {
		return err
	}
	if *machineType == "" {
		return fmt.Errorf("--type is required: %w", errUsage)
	}
	known, err := lookUpFigures(*presets, *provider, *machineType, *disks)
	var coded *agent.Error
	if errors.As(err, &coded) {
		if err := encode(out, agent.ErrorBody{Error: coded}); err != nil {
			return err
		}
		return errTold
	}
	return encode(out, known)
}

func lookUpFigures(path, provider, machineType string, disks int) (ioproperties.Known, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return ioproperties.Known{}, agent.Errorf("presets-unreadable", "%v", err)
	}
	presets, err := ioproperties.Parse(content)
	if err != nil {
		return ioproperties.Known{}, agent.Errorf("presets-unreadable", "%v", err)
	}
	known, err := presets.Explain(provider, machineType, disks)
	if err != nil {
		return ioproperties.Known{}, agent.Errorf("io-unknown", "%v", err)
	}
	return known, nil
}
