package cassandra

import (
	"context"

	"ringmaster/agent"
	"ringmaster/agent/tabledigest"
)

// digestTable reads every row of a table. Error codes: engine-not-running, invalid-parameters, table-not-found.
func (e *Engine) digestTable(ctx context.Context, parameters agent.DigestTableParameters, report agent.Report) (agent.TableDigest, error) {
	if err := e.running(); err != nil {
		return agent.TableDigest{}, err
	}
	return tabledigest.Table(ctx, parameters, report, func(ctx context.Context, do func(context.Context, tabledigest.Session) error) error {
		return untilPassed(ctx, func() error {
			conn, err := e.control.again(ctx)
			if err != nil {
				return err
			}
			return do(ctx, conn)
		})
	})
}
