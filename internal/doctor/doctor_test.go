package doctor_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rookeryhq/rookery/internal/doctor"
	"github.com/rookeryhq/rookery/internal/fault"
)

// TestRun checks that checks run in order, and that a failure does not stop the next one.
func TestRun(t *testing.T) {
	finds := func(f doctor.Finding) doctor.Check {
		return doctor.One(func(context.Context) doctor.Finding { return f })
	}
	bad := doctor.Failure("log", fault.New(fault.IndexError, "it is damaged").Fix("restore it"), "")
	found := doctor.InVault("v", doctor.Run(t.Context(),
		finds(doctor.Good("space", "all\nfree")), finds(bad), finds(doctor.Conflicts(2, []string{"a", "b"}))))
	require.Equal(t, ""+
		"ok     space      v  all free\n"+
		"error  log        v  it is damaged\n"+
		"                     try: restore it\n"+
		"warn   conflicts  v  2 copies of a text that could not be merged: a, b\n"+
		"                     try: merge it into the note beside it by hand; then: rookery delete the copy\n",
		doctor.Table(found))
	f := doctor.Fault(found)
	require.Equal(t, fault.IndexError, f.Code)
	require.Equal(t, "log: it is damaged", f.Message)
	require.Equal(t, []string{"restore it"}, f.Fixes)
	require.Contains(t, doctor.Fault(append(found, bad)).Message, "2 checks found something broken")
	require.Nil(t, doctor.Fault(found[:1]))
}

// TestFailureShowsCauses checks that the cause of an internal error is shown to the operator, and
// not that of an answer of another program.
func TestFailureShowsCauses(t *testing.T) {
	err := errors.New("no such device")
	require.Equal(t, "no such device", doctor.Failure("disk", err, "").Message)
	require.NotContains(t, doctor.Refused("login", err).Message, "device")
}

// TestList checks that a list has at most MaxListed names.
func TestList(t *testing.T) {
	require.Equal(t, "a, b and 3 more", doctor.List([]string{"a", "b"}, 5))
	require.Equal(t, "1 note", doctor.Count(1, "note"))
	require.Equal(t, "0 notes", doctor.Count(0, "note"))
}
