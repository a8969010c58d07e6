"""E-mail messages (EML): the body under its main headers; attachments are apart."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass, field
from email import errors, message_from_bytes, policy
from email.message import EmailMessage

from sherlock_pg.ingest.quality import visible_length
from sherlock_pg.ingest.reasons import ExtractionFailure, Flag, Reason
from sherlock_pg.ingest.source import AttachedFile, TextSource
from sherlock_pg.ingest.text import decode_declared

_HEADERS = ("Subject", "From", "To", "Date")
_MAX_DEPTH = 50
_MAX_HEADER_CHARS = 2000
_TINY_IMAGE_BYTES = 10_000
_MIN_PLAIN_SHARE = 0.5
_LEFT_OUT = frozenset(
    {
        "application/pgp-signature",
        "application/pkcs7-signature",
        "application/x-pkcs7-signature",
        "message/delivery-status",
        "message/disposition-notification",
        "text/rfc822-headers",
        "text/calendar",
        "text/x-amp-html",
    }
)
"""Parts for machines: what they say, the body says too."""

_CUT_OFF = (errors.CloseBoundaryNotFoundDefect, errors.StartBoundaryNotFoundDefect)
_PARSING_ERRORS = (ValueError, LookupError, TypeError, AttributeError, AssertionError)
"""What the standard library raises on headers and parts of a broken message."""


def open_mail(data: bytes) -> TextSource:
    """Open an e-mail message.

    Raises:
        ExtractionFailure: `damaged`, or `too_big` if parts are nested too deeply.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    ends = "\r\n" if b"\r\n" in data[:_MAX_HEADER_CHARS] else "\n"
    rules = policy.default.clone(refold_source="none", linesep=ends)
    try:
        message = message_from_bytes(data, policy=rules)
        content = _contents(message, 0)
    except RecursionError as error:
        raise _too_deep() from error
    except _PARSING_ERRORS as error:
        raise ExtractionFailure(Reason.DAMAGED, f"{type(error).__name__}: {error}") from error
    headers = [f"{name}: {value}" for name in _HEADERS if (value := _header(message, name))]
    is_cut_off = any(isinstance(defect, _CUT_OFF) for defect in content.defects)
    return TextSource(
        "\n\n".join(["\n".join(headers), *content.texts]),
        attached=content.attached,
        flags=[Flag.REPAIRED] if is_cut_off else [],
        loss="the message is cut off" if is_cut_off else "",
    )


@dataclass(slots=True)
class _Contents:
    """What a part of a message holds."""

    texts: list[str] = field(default_factory=list)
    attached: list[AttachedFile] = field(default_factory=list)
    defects: list[errors.MessageDefect] = field(default_factory=list)

    def add(self, other: _Contents) -> None:
        self.texts += other.texts
        self.attached += other.attached
        self.defects += other.defects


def _contents(part: EmailMessage, depth: int) -> _Contents:
    if depth > _MAX_DEPTH:
        raise _too_deep()
    kind = part.get_content_type()
    contents = _Contents(defects=list(part.defects))
    if kind in _LEFT_OUT:
        return contents
    if kind == "message/rfc822":
        contents.attached.append(_nested_message(part))
    elif part.is_multipart():
        inner = [
            _contents(child, depth + 1)
            for child in part.get_payload()
            if isinstance(child, EmailMessage)
        ]
        if kind == "multipart/alternative":
            best = _best([each.texts for each in inner])
            for each in inner:
                each.texts = []
            contents.texts = best
        for each in inner:
            contents.add(each)
    elif _is_body(part, kind):
        contents.texts.append(_body_text(part, kind))
    elif not _is_decoration(part):
        contents.attached.append(AttachedFile(_file_name(part), _reader(_payload(part))))
    return contents


def _best(alternatives: list[list[str]]) -> list[str]:
    """Choose the first alternative, which is the plain one, unless it says much less."""
    filled = [texts for texts in alternatives if texts]
    if not filled:
        return []
    longest = max(filled, key=_length)
    return filled[0] if _length(filled[0]) >= _MIN_PLAIN_SHARE * _length(longest) else longest


def _length(texts: list[str]) -> int:
    return sum(map(visible_length, texts))


def _is_body(part: EmailMessage, kind: str) -> bool:
    return (
        kind in ("text/plain", "text/html", "text/enriched")
        and not part.is_attachment()
        and not _file_name(part)
    )


def _body_text(part: EmailMessage, kind: str) -> str:
    charset = part.get_content_charset()
    if kind == "text/html":
        from sherlock_pg.ingest.webpage import declared_charset, html_text

        data = _payload(part)
        return html_text(decode_declared(data, charset or declared_charset(data)))
    return decode_declared(_payload(part), charset)


def _is_decoration(part: EmailMessage) -> bool:
    """Say whether a part is an image in the text that is too small to be a page."""
    if part.get_content_maintype() != "image" or part.is_attachment():
        return False
    from sherlock_pg.ingest.images import looks_like_page

    data = _payload(part)
    return len(data) < _TINY_IMAGE_BYTES or not looks_like_page(data)


def _payload(part: EmailMessage) -> bytes:
    content = part.get_payload(decode=True)
    return content if isinstance(content, bytes) else b""


def _nested_message(part: EmailMessage) -> AttachedFile:
    inner = part.get_payload(0) if part.is_multipart() else None
    if not isinstance(inner, EmailMessage):
        return AttachedFile(_file_name(part), _reader(_payload(part)))
    name = _file_name(part) or f"{_header(inner, 'Subject')}.eml"
    return AttachedFile(name, _reader(inner.as_bytes()))


def _file_name(part: EmailMessage) -> str:
    return part.get_filename("")


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = message[name]
    except _PARSING_ERRORS:
        return ""
    return "" if value is None else " ".join(str(value).split())[:_MAX_HEADER_CHARS]


def _reader(content: bytes) -> Callable[[int], bytes]:
    def read(max_bytes: int) -> bytes:
        if len(content) > max_bytes:
            raise ExtractionFailure(
                Reason.TOO_BIG, f"{len(content)} bytes, the limit is {max_bytes}"
            )
        return content

    return read


def _too_deep() -> ExtractionFailure:
    return ExtractionFailure(Reason.TOO_BIG, "parts are nested too deeply")
