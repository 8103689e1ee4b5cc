package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"

	"ringmaster/agent/pinning"
)

// pinned is the line that `agent pin` prints.
type pinned struct {
	IRQ       string `json:"irq"`
	Shards    string `json:"shards"`
	NShards   int    `json:"n_shards"`
	IRQMask   string `json:"irq_mask"`
	ShardMask string `json:"shard_mask"`
}

// errTold is a failure that is on standard output already, for programs to read.
var errTold = errors.New("refused")

// pin prints which CPUs a machine of some shape gives to interrupts and to shards, or {"error": why not}.
func pin(arguments []string, out, problems io.Writer) error {
	flags := flag.NewFlagSet("agent pin", flag.ContinueOnError)
	flags.SetOutput(problems)
	shape := flags.String("topology", "", "NUMA nodes x cores per node x threads per core, for example 2x18x2; left out: this machine's")
	siblings := flags.String("siblings", pinning.Split, "split: the sibling of CPU n is n+cores, as on AWS and GCP; adjacent: siblings follow each other")
	ratio := flags.Int("ratio", pinning.DefaultRatio, "cores that one interrupt core serves, at least 5")
	allowed := flags.String("allowed", "", "CPUs to choose from, for example 0-7,16-23; left out: all")
	mode := flags.String("mode", string(pinning.Auto), "auto, or sq to set one hardware thread aside")
	root := flags.String("root", "/", "where this machine's sysfs is looked for")
	if err := parseFlags(flags, arguments); err != nil {
		return err
	}
	choice, err := choosePins(*shape, *siblings, *allowed, *root, pinning.Options{Ratio: *ratio, Mode: pinning.Mode(*mode)})
	if err != nil {
		if err := json.NewEncoder(out).Encode(map[string]string{"error": err.Error()}); err != nil {
			return err
		}
		return errTold
	}
	return json.NewEncoder(out).Encode(pinned{
		IRQ: choice.IRQ.String(), Shards: choice.Shards.String(), NShards: len(choice.Shards),
		IRQMask: choice.IRQ.Mask(), ShardMask: choice.Shards.Mask(),
	})
}

func choosePins(shape, siblings, allowed, root string, options pinning.Options) (pinning.Choice, error) {
	topology, err := pinning.ReadTopology(root)
	if shape != "" {
		topology, err = pinning.ParseTopology(shape, siblings)
	}
	if err != nil {
		return pinning.Choice{}, err
	}
	if options.Ratio == 0 {
		options.Ratio = -1 // a zero that was typed is no wish for the default
	}
	if allowed != "" {
		if options.Allowed, err = pinning.ParseList(allowed); err != nil {
			return pinning.Choice{}, err
		}
	}
	return pinning.Choose(topology, options)
}
