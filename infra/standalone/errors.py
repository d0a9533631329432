"""What can go wrong with the embedded stack.

StandaloneError
├── HomeOwnerError          the home folder was made by another account
├── ServerError             an embedded server could not be prepared or started
│   └── DataVersionError    the data folder belongs to another major version of PostgreSQL
├── PortInUseError          the gateway's port belongs to another program
├── StartError              the stack did not become ready
├── StopRequestedError      a stop was asked for while the stack was starting
├── LockTimeoutError        another command held a lock of the home folder for too long
└── StackError              what the caller of `stack` sees: one sentence, and where to read on
"""


class StandaloneError(Exception):
    """Any failure of the embedded stack; the message is one sentence fit for a terminal."""


class HomeOwnerError(StandaloneError):
    """The home folder was made by another account."""

    def __init__(self, folder: str, owner: int, caller: int) -> None:
        super().__init__(
            f"The folder {folder} belongs to the stack of the account with number {owner}, and this is {caller}: "
            "call leadline as that account, or set LEADLINE_HOME to a folder of your own."
        )


class ServerError(StandaloneError):
    """An embedded server could not be prepared or started."""


class DataVersionError(ServerError):
    """The data folder was written by another major version of PostgreSQL."""

    def __init__(self, folder: str, found: str, expected: str) -> None:
        super().__init__(
            f"The data in {folder} was written by PostgreSQL {found}, this version of Leadline brings "
            f"PostgreSQL {expected}: dump it with the version that wrote it, or use another LEADLINE_HOME."
        )
        self.found = found
        self.expected = expected


class PortInUseError(StandaloneError):
    """The port wanted for the gateway is taken."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(
            f"Port {port} on {host} is in use by another program: "
            "stop that program, or set LEADLINE_GATEWAY_PORT to another port (0 picks a free one)."
        )
        self.port = port


class StartError(StandaloneError):
    """The stack did not become ready."""


class StopRequestedError(StandaloneError):
    """A stop was asked for while the stack was still starting."""

    def __init__(self) -> None:
        super().__init__("The stack was told to stop while it was starting.")


class LockTimeoutError(StandaloneError):
    """Another command held a lock of the home folder for too long."""


class StackError(StandaloneError):
    """A stack could not be started or stopped."""
