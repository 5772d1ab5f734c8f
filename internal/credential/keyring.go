package credential

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zalando/go-keyring"
)

// service is the name that our tokens have in a keyring; the account is the origin of the server.
const service = "rookery"

// patience is how long a keyring may take: whoever has locked it types a password meanwhile.
const patience = 30 * time.Second

func setInKeyring(ctx context.Context, o Origin, token string) error {
	return bounded(ctx, func() error { return keyring.Set(service, string(o), token) })
}

// removeFromKeyring takes a token away. That it is away already is no error.
func removeFromKeyring(ctx context.Context, o Origin) error {
	err := bounded(ctx, func() error { return keyring.Delete(service, string(o)) })
	if errors.Is(err, keyring.ErrNotFound) {
		return nil
	}
	return err
}

func fromKeyring(ctx context.Context, o Origin) (string, error) {
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

// bounded asks a keyring, which takes no context, for as long as patience and the context allow.
func bounded(ctx context.Context, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
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
