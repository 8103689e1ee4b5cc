package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"ringmaster/agent"
	"ringmaster/agent/cassandra"
	"ringmaster/agent/enrol"
	"ringmaster/agent/identity"
	"ringmaster/agent/iomeasure"
)

// apiSchema describes every type of the API, by name. Fields without omitempty are required.
func apiSchema() map[string]any {
	definitions := map[string]any{}
	for _, value := range []any{
		agent.UserData{}, agent.JobRequest{}, agent.Job{}, agent.JobList{}, agent.Status{}, agent.Certificate{},
		agent.CertificateRequest{}, agent.NewCertificate{}, agent.NewEngineCertificate{}, agent.ErrorBody{}, enrol.Request{}, identity.Issued{},
		cassandra.Config{}, cassandra.InstallParameters{}, agent.Installed{}, agent.Started{},
		cassandra.SecureParameters{}, cassandra.RotateParameters{}, cassandra.ProveParameters{}, agent.Proof{},
		cassandra.RemoveNodeParameters{}, cassandra.RebuildParameters{}, cassandra.StreamLimitParameters{}, agent.Streamed{},
		agent.DataDescription{}, agent.CanaryReading{}, agent.Inspection{},
		cassandra.Roles{}, cassandra.RoleChange{}, cassandra.GrantParameters{}, cassandra.AllowlistParameters{},
		cassandra.Keyspaces{}, cassandra.ReplicateParameters{}, cassandra.Settings{}, agent.AppliedSettings{}, agent.TLSReloaded{},
		agent.TuningReport{}, agent.MeasureIOParameters{}, iomeasure.MeasuredIO{},
		agent.RepairParameters{}, agent.Repaired{}, agent.RepairActivity{}, agent.ThroughputParameters{}, agent.Throughput{},
		agent.Load{}, agent.KeyspaceRing{}, agent.Schema{},
		agent.SnapshotParameters{}, agent.SnapshotTaken{}, agent.ClearSnapshotParameters{}, agent.IndexSnapshotParameters{}, agent.Indexed{},
		agent.BundlePage{}, agent.UploadBundlesParameters{}, agent.Uploaded{}, agent.VerifyObjectsParameters{}, agent.Verified{},
		agent.FetchBundlesParameters{}, agent.Fetched{}, agent.ImportBundlesParameters{}, agent.Imported{}, agent.DropRestoreParameters{},
		agent.DescribeSchemaParameters{}, agent.SchemaDescription{}, agent.CreateSchemaParameters{}, agent.SchemaCreated{}, agent.TruncateTablesParameters{}, agent.FetchFilesParameters{},
		agent.SetArchiveParameters{}, agent.ArchiveSet{}, agent.ArchiveReport{}, agent.ReplayArchiveParameters{}, agent.Replayed{},
		agent.DigestTableParameters{}, agent.TableDigest{},
		agent.HoldTabletsParameters{}, agent.TabletsHeld{}, agent.ReleaseTabletsParameters{},
		agent.DiagnoseParameters{}, agent.Answer{}, agent.CommandParameters{}, agent.CommandDone{},
		agent.StatementRequest{}, agent.Statement{},
		agent.TablesDescribed{}, agent.AlterTableParameters{}, agent.TableAltered{}, agent.RewriteTableParameters{},
		agent.LoadWorkloadParameters{}, agent.WorkloadLoaded{}, agent.RunWorkloadParameters{}, agent.WorkloadDone{},
	} {
		describe(reflect.TypeOf(value), definitions)
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"title":   "Ringmaster agent API",
		"$defs":   definitions,
	}
}

// closed are the types that are one of a few words.
var closed = map[reflect.Type][]any{
	reflect.TypeFor[agent.JobKind]():     words(agent.JobKinds()...),
	reflect.TypeFor[agent.JobState]():    words(agent.Running, agent.Succeeded, agent.Failed),
	reflect.TypeFor[agent.EngineState](): words(agent.EngineAbsent, agent.EngineStopped, agent.EngineStarting, agent.EngineRunning, agent.EngineFailed),

	reflect.TypeFor[agent.RepairMode]():    words(agent.RepairFull, agent.RepairIncremental, agent.RepairPull),
	reflect.TypeFor[agent.RepairOutcome](): words(agent.RepairCompleted, agent.RepairNothingToDo),

	reflect.TypeFor[agent.CheckStatus]():      words(agent.Pass, agent.Fail, agent.NotApplicable),
	reflect.TypeFor[agent.Environment]():      words(agent.OwnMachine, agent.Container, agent.SharedMachine),
	reflect.TypeFor[agent.StepState]():        words(agent.StepSucceeded, agent.StepFailed, agent.StepPending),
	reflect.TypeFor[agent.StoreKind]():        words(agent.FolderStore, agent.S3Store, agent.GCSStore),
	reflect.TypeFor[agent.VerifyMode]():       words(agent.VerifySize, agent.VerifyContent),
	reflect.TypeFor[agent.BadReason]():        words(agent.ObjectMissing, agent.ObjectSize, agent.ObjectContent),
	reflect.TypeFor[agent.Workload]():         words(agent.Workloads()...),
	reflect.TypeFor[agent.ArchiveEntryKind](): words(agent.ArchivePiece, agent.ArchiveGap),
	reflect.TypeFor[iomeasure.Verdict]():      words(iomeasure.Stable, iomeasure.Usable, iomeasure.Noisy),
}

func words[T any](values ...T) []any {
	all := make([]any, len(values))
	for index, value := range values {
		all[index] = value
	}
	return all
}

// describe returns the schema of a type; structs go to definitions and are referred to.
func describe(kind reflect.Type, definitions map[string]any) map[string]any {
	if values, found := closed[kind]; found {
		return map[string]any{"type": "string", "enum": values}
	}
	switch kind {
	case reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[[]byte]():
		return map[string]any{"type": "string"}
	case reflect.TypeFor[json.RawMessage]():
		return map[string]any{"type": "object"}
	}
	switch kind.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": describe(kind.Elem(), definitions)}
	case reflect.Map:
		return map[string]any{"type": "object"}
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{describe(kind.Elem(), definitions), map[string]any{"type": "null"}}}
	case reflect.Struct:
		if _, known := definitions[kind.Name()]; !known {
			definitions[kind.Name()] = nil
			definitions[kind.Name()] = describeStruct(kind, definitions)
		}
		return map[string]any{"$ref": "#/$defs/" + kind.Name()}
	}
	return map[string]any{}
}

func describeStruct(kind reflect.Type, definitions map[string]any) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, field := range reflect.VisibleFields(kind) {
		if field.Anonymous {
			continue
		}
		name, rest, _ := strings.Cut(field.Tag.Get("json"), ",")
		properties[name] = describe(field.Type, definitions)
		if !strings.Contains(rest, "omitempty") {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}
