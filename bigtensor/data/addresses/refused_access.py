"""Reasons of object stores that refuse access: rights, keys and expired credentials."""

from __future__ import annotations

_RIGHTS = {
    "s3:ListBucket": ("list", ("List", "HeadBucket")),
    "s3:PutObject": ("write", ("Put", "Create", "Upload", "Complete", "Copy")),
    "s3:DeleteObject": ("remove", ("Delete",)),
    "s3:GetObject": ("read", ("Get", "HeadObject")),
}
"""Rights in Amazon's words, with what they allow and how the names of their requests begin."""

_EXPIRED = ("ExpiredToken", "TokenRefreshRequired")
_WRONG_KEY = ("InvalidAccessKeyId", "SignatureDoesNotMatch")
"""Codes of S3 servers for credentials that were valid, and for those that never were."""


def explain_refused_access(address: str, error: PermissionError, where: str) -> str:
    """Return what was refused, and the remedy.

    The client of S3 reports the request and a code of the reason. The answer to a HEAD request has
    no room for a reason, so that the remedy names all of them.

    Parameters
    ----------
    address : str
        URL that the error belongs to.
    error : PermissionError
        Of fsspec, with the error of the client as its cause.
    where : str
        Where the client looks for credentials.
    """
    response = getattr(error.__cause__, "response", None)
    # the answers of other clients are objects
    code = response.get("Error", {}).get("Code") if isinstance(response, dict) else None
    right, verb = _refused_right(getattr(error.__cause__, "operation_name", ""))
    if code in _EXPIRED or "expired" in str(error):
        return (
            f"the credentials for {address} are no longer valid ({error}); renew the credentials "
            f"({where}), and run the same command again"
        )
    refused = f"the present credentials may not {verb} {address} ({error})"
    if code in _WRONG_KEY:
        return f"{refused}; check the key and the secret ({where})"
    permission = f"the right {right}" if right else "the rights of their user"
    if code == "AccessDenied":
        return (
            f"{refused}; ask the owner of the bucket for {permission}, or give other credentials "
            f"({where})"
        )
    return (
        f"{refused}; renew the credentials if they have expired, and check the key and the secret "
        f"({where}), and {permission}"
    )


def _refused_right(request: str) -> tuple[str | None, str]:
    """Return the right that a request of S3 needs, and in a verb what it does."""
    for right, (verb, requests) in _RIGHTS.items():
        if request.startswith(requests):
            return right, verb
    return None, "use"
