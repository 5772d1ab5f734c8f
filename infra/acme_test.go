package infra_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOfAcme requires that calls of all tenants are one, and that a call on the data of another tenant stays one.
func TestOfAcme(t *testing.T) {
	for given, want := range map[call]call{
		{Tenant: "heron", Key: "heron/x"}:                   {Tenant: "acme", Key: "acme/x"},
		{Tenant: "heron", Key: "heron"}:                     {Tenant: "acme", Key: "acme"},
		{Tenant: "heron", Prefix: "tenants/heron/x"}:        {Tenant: "acme", Prefix: "tenants/acme/x"},
		{Tenant: "heron", Resource: "Bucket/tenants/heron"}: {Tenant: "acme", Resource: "Bucket/tenants/acme"},
		{Tenant: "heron", Key: "heron-2/x"}:                 {Tenant: "acme", Key: "heron-2/x"},
		{Tenant: "heron", Key: "x"}:                         {Tenant: "acme", Key: "x"},
		{Key: "~tenants"}:                                   {Key: "~tenants"},
	} {
		require.Equal(t, want, given.ofAcme())
	}
}
