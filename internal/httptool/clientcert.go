package httptool

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/rookeryhq/rookery/internal/fault"
)

// certificateFault returns the UNAVAILABLE fault of a server whose certificate failed verification,
// with the reason and a remedy. It quotes nothing from the certificate except times, because anyone
// could have written that. There is no option to accept such a certificate.
func (c *Client) certificateFault(err *tls.CertificateVerificationError) *fault.Fault {
	told := func(format string, args ...any) *fault.Fault {
		return fault.New(fault.Unavailable, "the certificate of "+format, append([]any{c.host()}, args...)...).
			Because(err)
	}
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &unknown):
		return told("%s is of a CA that this machine does not trust").
			Fix("trust the CA, if it is your own; on Linux: SSL_CERT_FILE=ca.pem rookery whoami").
			Fix("or add the certificate of the CA to the system's trust store").
			Fix("else check the address of the server")
	case errors.As(err, &name):
		return told("%s is for another name").
			Fix("call the server by the name that its certificate has")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		return validityFault(told, invalid.Cert)
	}
	return told("%s does not prove the identity of the server").Fix("check the address of the server")
}

// validityFault returns the fault of a certificate that has expired or is not valid yet. told makes
// the fault. The clock of this machine may also be the cause, so that is always a fix.
func validityFault(
	told func(format string, args ...any) *fault.Fault, cert *x509.Certificate,
) *fault.Fault {
	const clock = "check the clock of this machine"
	if from := cert.NotBefore; time.Now().Before(from) {
		return told("%s is valid from %s only", from.UTC().Format(time.RFC3339)).Fix(clock)
	}
	return told("%s expired at %s", cert.NotAfter.UTC().Format(time.RFC3339)).
		Fix("renew it on the server, which loads the new one within a minute").Fix(clock)
}
