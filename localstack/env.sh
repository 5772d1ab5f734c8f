# Settings that the scripts of this folder share. They are sourced, with `here` set to this folder.
# LS_HOME: where programs, state and logs are. LS_PORT, DDB_PORT: the loopback ports of LocalStack and of
# DynamoDB Local.
LS_HOME=${LS_HOME:-$here/../.localstack}
mkdir -p "$LS_HOME"
LS_HOME=$(cd "$LS_HOME" && pwd)
LS_PORT=${LS_PORT:-4566}
DDB_PORT=${DDB_PORT:-4567}

# LocalStack 4.14.0 is the last release that needs no token. DynamoDB Local names artifacts of the AWS
# SDK for Java; the BOM gives versions of them that resolve.
ls_version=4.14.0
ddb_version=3.3.1
ddb_bom=2.54.15

# LocalStack looks for its helper programs here, and downloads none that it finds.
ls_libs=$LS_HOME/fs/var/lib/localstack/lib
ddb=$ls_libs/dynamodb-local/2

say() { echo "localstack: $*"; }

# fail ends the script with a message.
fail() {
	say "$*" >&2
	exit 1
}

# running reports whether the LocalStack that `up` started is running, and not another process with its id.
running() {
	local pid
	pid=$(cat "$LS_HOME/pid" 2>/dev/null) || return 1
	tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q "$LS_HOME/loopback.py"
}
