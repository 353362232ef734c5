"""What can be wrong with a backup; each message is one sentence for the person at the screen."""


class BackupError(ValueError):
    """A backup cannot be made, read or put in its place; nothing was changed."""


class BackupRefused(BackupError):
    """It would overwrite something, find no room, or holds what does not belong in a backup."""


class BackupDamaged(BackupError):
    """The file is not whole, or not what it was when it was written."""
