package credential

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zalando/go-keyring"
)

// service is the service name of our tokens in a keyring. The account is the origin of the server.
const service = "rookery"

// keyringTimeout is the time limit of a keyring operation. It allows for a person who types a password to
// unlock the keyring.
const keyringTimeout = 30 * time.Second

// setInKeyring stores a token in the keyring.
func setInKeyring(ctx context.Context, o Origin, token string) error {
	return bounded(ctx, func() error { return keyring.Set(service, string(o), token) })
}

// removeFromKeyring deletes a token from the keyring. It returns nil if there is none.
func removeFromKeyring(ctx context.Context, o Origin) error {
	err := bounded(ctx, func() error { return keyring.Delete(service, string(o)) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

// fromKeyring returns a token from the keyring.
func fromKeyring(ctx context.Context, o Origin) (string, error) {
	// The channel has room for the token, so that ask ends even if bounded has returned.
	answered := make(chan string, 1)
	err := bounded(ctx, func() error {
		token, err := keyring.Get(service, string(o))
		answered <- token
		return err
	})
	if err != nil {
		return "", err
	}
	return <-answered, nil
}

// bounded calls ask, which uses a keyring and takes no context, and waits for it as long as
// keyringTimeout and the context allow. After that, ask continues in the background.
func bounded(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, keyringTimeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- ask() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("ask the keyring: %w", ctx.Err())
	}
}
