package cassandra

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"go.yaml.in/yaml/v3"

	"ringmaster/agent/jolokia"
	"ringmaster/agent/statefile"
)

// seedsDue rings when the seeds of the stored configuration may differ from those the engine runs with.
type seedsDue chan struct{}

func (d seedsDue) due() {
	select {
	case d <- struct{}{}:
	default:
	}
}

// watchSeeds makes a running engine read its seeds anew when they have changed. It tries until it succeeds.
func (e *Engine) watchSeeds(ctx context.Context) {
	e.seeds.due() // an earlier agent may have ended before it had done so
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.seeds:
		}
		for e.reloadSeeds(ctx) != nil && pause(ctx, 2*time.Second) == nil {
			continue
		}
	}
}

// reloadSeeds is done at once when the engine does not run, or runs with them.
func (e *Engine) reloadSeeds(ctx context.Context) error {
	config, err := e.configured()
	if err != nil || !e.supervisor.Condition().Alive {
		return nil
	}
	path := filepath.Join(e.place.conf(), "cassandra.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	// All else stays as the engine was started with.
	var document map[string]any
	if err := yaml.Unmarshal(content, &document); err != nil {
		return err
	}
	wanted := seedProvider(config.Seeds)
	if reflect.DeepEqual(document["seed_provider"], wanted) {
		return nil
	}
	document["seed_provider"] = wanted
	if content, err = yaml.Marshal(document); err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := statefile.Write(path+".seeds", append([]byte(yamlNote), content...)); err != nil {
		return err
	}
	if err := os.Rename(path+".seeds", path); err != nil {
		return err
	}
	if err := e.management.Do(within, jolokia.Exec(gossiper, "reloadSeeds"), nil); err != nil {
		e.log.Warn("the engine did not read its seeds anew; trying again", "error", err)
		return err
	}
	e.log.Info("the engine read its seeds anew", "seeds", config.Seeds)
	return nil
}
