package cassandra

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strconv"
	"time"

	"ringmaster/agent"
)

// reloadTLSWithin is how long the engine may take to show the certificate that it was told to use.
const reloadTLSWithin = 30 * time.Second

// TLSReloaded is the result of the job reload-tls.
type TLSReloaded struct {
	// Serial is the certificate's, in hexadecimal digits; both ports show it.
	Serial string `json:"serial"`
}

// reloadTLS makes the engine read key, certificate and authorities anew, for clients and for other nodes. Connections that
// are open go on. It is only done when both ports were seen to show the certificate. Error code: tls-not-reloaded.
func (e *Engine) reloadTLS(ctx context.Context, _ Nothing, report agent.Report) (TLSReloaded, error) {
	if err := e.running(); err != nil {
		return TLSReloaded{}, err
	}
	config, err := e.configured()
	if err != nil {
		return TLSReloaded{}, err
	}
	own, err := ownCertificate(e.identity.KeyAndCertificate)
	if err != nil {
		return TLSReloaded{}, err
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
				last = e.shows(ctx, net.JoinHostPort(config.Address, strconv.Itoa(port)), serial)
			}
		}
		if last == nil {
			return TLSReloaded{Serial: serial}, e.forgetFormerKey()
		}
		if pause(ctx, 10*retryPause) != nil {
			return TLSReloaded{}, agent.Errorf("tls-not-reloaded", "The engine does not use certificate %s: %v", serial, last)
		}
	}
}

// shows fails unless a new connection to the port is answered with the certificate of this serial.
func (e *Engine) shows(ctx context.Context, address, serial string) error {
	pair, err := tls.LoadX509KeyPair(e.identity.KeyAndCertificate, e.identity.KeyAndCertificate)
	if err != nil {
		return err
	}
	shown := ""
	dialer := tls.Dialer{Config: &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
		// Nothing is said over this connection; only what it shows is looked at.
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			shown = state.PeerCertificates[0].SerialNumber.Text(16)
			return nil
		},
	}}
	within, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	socket, err := dialer.DialContext(within, "tcp", address)
	if err != nil {
		return err
	}
	_ = socket.Close()
	if shown != serial {
		return errors.New(address + " still shows certificate " + shown)
	}
	return nil
}

// forgetFormerKey ends the time in which the engine may show the key it had before.
func (e *Engine) forgetFormerKey() error {
	if err := os.Remove(e.identity.FormerCertificate); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
