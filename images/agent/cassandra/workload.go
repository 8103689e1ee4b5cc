package cassandra

import (
	"context"

	"ringmaster/agent"
	"ringmaster/agent/workload"
)

// loadWorkload makes the data set of a test drive. Error codes: engine-not-running and those of workload.Load.
func (e *Engine) loadWorkload(ctx context.Context, p agent.LoadWorkloadParameters, report agent.Report) (agent.WorkloadLoaded, error) {
	if err := e.running(); err != nil {
		return agent.WorkloadLoaded{}, err
	}
	return workload.Load(ctx, p, e.workloadSession, report)
}

// runWorkload reads and writes it. Error codes: those of workload.Run.
func (e *Engine) runWorkload(ctx context.Context, p agent.RunWorkloadParameters, report agent.Report) (agent.WorkloadDone, error) {
	return workload.Run(ctx, p, e.workloadSession, report)
}

// workloadSession is beside the control session, which others would have to wait for.
func (e *Engine) workloadSession(ctx context.Context) (workload.Session, error) {
	account, err := e.control.remembered()
	if err != nil {
		return nil, err
	}
	conn, err := e.dial(ctx, account)
	if err != nil {
		return nil, err
	}
	return conn, nil
}
