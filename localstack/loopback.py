"""Starts LocalStack on loopback only: its server ignores the host of GATEWAY_LISTEN and binds every address."""

import functools

from twisted.internet import endpoints

endpoints.TCP4ServerEndpoint = functools.partial(endpoints.TCP4ServerEndpoint, interface="127.0.0.1")

from localstack.runtime.main import main  # noqa: E402

if __name__ == "__main__":
    main()
