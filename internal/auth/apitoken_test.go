package auth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/auth"
)

// TestAPIToken checks that a token is parsed as it was created, matches only its own digest, and is
// unique.
func TestAPIToken(t *testing.T) {
	for _, tenant := range []string{"a", "acme-2", strings.Repeat("z", 63)} {
		made, other := auth.NewSecret(tenant), auth.NewSecret(tenant)
		read, ok := auth.ParseAPIToken(made.Token())
		require.True(t, ok)
		require.Equal(t, made, read)
		require.Equal(t, tenant, read.Tenant)
		require.True(t, strings.HasPrefix(read.ID, tenant+"_"))
		require.True(t, auth.IsAPIToken(made.Token()))
		require.True(t, read.Matches(made.Digest()))
		require.NotContains(t, made.Digest(), made.Token()[len(made.Token())-52:])
		require.NotEqual(t, made.ID, other.ID)
		require.False(t, other.Matches(made.Digest()))
		for _, digest := range []string{"", made.Digest()[1:], strings.ToUpper(made.Digest())} {
			require.False(t, made.Matches(digest))
		}
	}
	require.False(t, auth.Secret{}.Matches(auth.Secret{}.Digest()))
}

// TestBadAPITokens checks that texts that NewSecret cannot have produced are refused.
func TestBadAPITokens(t *testing.T) {
	good := auth.NewSecret("acme").Token()
	for _, text := range []string{
		"", "rk_", "rk_.", good[:len(good)-1], good + "a", good + " ", " " + good, good + "\n",
		strings.ToUpper(good), "RK_" + good[3:], "rk-" + good[3:], "sk_" + good[3:], good[3:],
		strings.Replace(good, "acme", "", 1), strings.Replace(good, "acme", "Acme", 1),
		strings.Replace(good, "acme", "-acme", 1), strings.Replace(good, "acme", "a_cme", 1),
		strings.Replace(good, "acme", "äcme", 1), strings.Replace(good, "acme", "a/b", 1),
		strings.Replace(good, "acme", strings.Repeat("a", 64), 1),
		strings.Replace(good, "acme_", "acme__", 1), strings.Replace(good, "_", "", 2),
		strings.Replace(good, ".", "", 1), strings.Replace(good, ".", "..", 1),
		good[:len(good)-1] + "1", good[:len(good)-1] + "=", good[:len(good)-1] + "\x00",
		"rk_" + strings.Repeat("a", 1<<20),
	} {
		s, ok := auth.ParseAPIToken(text)
		require.False(t, ok, "%.99q", text)
		require.Zero(t, s)
	}
}

// TestSecretIsHidden checks that a secret does not appear in logs and messages by accident.
func TestSecretIsHidden(t *testing.T) {
	s := auth.NewSecret("acme")
	_, hidden, _ := strings.Cut(s.Token(), ".")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%U", "%T"} {
		for _, value := range []any{s, &s, []auth.Secret{s}, struct{ S auth.Secret }{s}} {
			text := fmt.Sprintf(verb, value)
			require.NotContains(t, text, hidden, verb)
			require.NotContains(t, strings.ToLower(text), fmt.Sprintf("%x", hidden), verb)
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "in", []auth.Secret{s})
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", s, "in", []auth.Secret{s})
	text, err := json.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, log.String()+string(text), hidden)
	require.Contains(t, log.String(), s.ID)
}

// FuzzParseAPIToken checks that each token has only one accepted text.
func FuzzParseAPIToken(f *testing.F) {
	good := auth.NewSecret("acme").Token()
	for _, text := range []string{
		good, "rk_a_b.c", "rk_", good + ".", strings.Replace(good, "_", ".", 2),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, ok := auth.ParseAPIToken(text)
		if !ok {
			require.Zero(t, s)
			return
		}
		require.Equal(t, text, s.Token())
		require.True(t, auth.IsAPIToken(text))
		require.True(t, auth.ValidName(s.Tenant))
		require.True(t, s.Matches(s.Digest()))
	})
}

// TestHoldsToken checks which texts are recognized as containing a token.
func TestHoldsToken(t *testing.T) {
	secret := auth.NewSecret("acme")
	for text, want := range map[string]bool{
		secret.Token(): true, "x=" + secret.Token() + "x": true, strings.ToUpper(secret.Token()): true,
		secret.Token()[:len(secret.Token())-20]: true, "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.": true,
		"": false, "planner": false, "token:" + secret.ID: false, "rk_acme": false,
		"user:alice@login.example.test": false, "eyJ.x.y": false,
	} {
		require.Equal(t, want, auth.ContainsToken(text), text)
	}
	require.True(t, auth.Reserved(secret.Token()), "no agent is called so")
}
