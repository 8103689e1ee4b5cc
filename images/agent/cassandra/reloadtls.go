package cassandra

import (
	"context"
	"net"
	"strconv"
	"time"

	"ringmaster/agent"
)

// reloadTLSWithin is how long the engine may take to show the certificate that it was told to use.
const reloadTLSWithin = 30 * time.Second

// reloadTLS makes the engine read key, certificate and authorities anew, for clients and for other nodes. Connections that
// are open go on. It is only done when both ports were seen to show the certificate. Error code: tls-not-reloaded.
func (e *Engine) reloadTLS(ctx context.Context, _ Nothing, report agent.Report) (agent.TLSReloaded, error) {
	if err := e.running(); err != nil {
		return agent.TLSReloaded{}, err
	}
	config, err := e.configured()
	if err != nil {
		return agent.TLSReloaded{}, err
	}
	own, err := e.identity.Own()
	if err != nil {
		return agent.TLSReloaded{}, err
	}
	serial := own.SerialNumber.Text(16)
	ctx, cancel := context.WithTimeout(ctx, reloadTLSWithin)
	defer cancel()
	report(0.2, "Telling the engine")
	var last error
	for {
		last = e.exec(ctx, nil, messagingService, "reloadSslCertificates")
		for _, port := range []int{cqlPort, internodePort} {
			if last == nil {
				last = e.identity.Shows(ctx, net.JoinHostPort(config.Address, strconv.Itoa(port)), serial)
			}
		}
		if last == nil {
			return agent.TLSReloaded{Serial: serial}, e.identity.ForgetFormer()
		}
		if pause(ctx, 10*retryPause) != nil {
			return agent.TLSReloaded{}, agent.Errorf("tls-not-reloaded", "The engine does not use certificate %s: %v", serial, last)
		}
	}
}
