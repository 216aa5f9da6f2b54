"""Refusals of S3 servers: the message names what was refused and the right or key to change."""

import pytest

from bigtensor.data.addresses.object_stores import explain_failure

ADDRESS = "s3://bucket/cells.zarr"


def refusal(request: str, code: str, text: str) -> PermissionError:
    """Return the error of s3fs for a refused request, whose cause is the error of botocore."""
    cause = Exception(text)
    cause.operation_name = request  # type: ignore[attr-defined]
    cause.response = {"Error": {"Code": code, "Message": text}}  # type: ignore[attr-defined]
    error = PermissionError(text)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("request_name", "verb", "right"),
    [
        ("ListObjectsV2", "list", "s3:ListBucket"),
        ("PutObject", "write", "s3:PutObject"),
        ("CreateMultipartUpload", "write", "s3:PutObject"),
        ("DeleteObjects", "remove", "s3:DeleteObject"),
        ("GetObject", "read", "s3:GetObject"),
    ],
)
def test_denied_request__names_what_was_refused_and_the_right(
    request_name: str, verb: str, right: str
) -> None:
    message = explain_failure(ADDRESS, refusal(request_name, "AccessDenied", "Access Denied"))
    assert f"may not {verb} {ADDRESS}" in message
    assert right in message
    assert "check the key" not in message


@pytest.mark.parametrize("code", ["InvalidAccessKeyId", "SignatureDoesNotMatch"])
def test_wrong_key__is_to_be_checked(code: str) -> None:
    message = explain_failure(ADDRESS, refusal("GetObject", code, "no such key"))
    assert "check the key and the secret" in message
    assert "s3:GetObject" not in message


@pytest.mark.parametrize(
    "error",
    [
        refusal("GetObject", "ExpiredToken", "The provided token is too old."),
        PermissionError("The provided token has expired."),
    ],
)
def test_expired_credentials__are_to_be_renewed(error: PermissionError) -> None:
    message = explain_failure(ADDRESS, error)
    assert "renew the credentials" in message
    assert "check the key" not in message


def test_refusal_without_a_reason__names_every_remedy() -> None:
    message = explain_failure(ADDRESS, refusal("HeadObject", "403", "Forbidden"))
    for remedy in (
        "renew the credentials",
        "the key and the secret",
        "s3:GetObject",
        "may not read",
    ):
        assert remedy in message
