from __future__ import annotations

import pytest

from karpy.errors import InvalidObject
from karpy_aws.bootstrap.mime import Part, is_archive, read_parts, shell_part, write_parts

ARCHIVE = """\
Content-Type: multipart/mixed; boundary="EDGE"
MIME-Version: 1.0

a preamble that nobody reads
--EDGE
Content-Type: text/x-shellscript
Content-Transfer-Encoding: 7bit

echo one

--EDGE

echo two
--EDGE--
an epilogue
"""
ONE = Part((("Content-Type", "text/x-shellscript"), ("Content-Transfer-Encoding", "7bit")), "echo one\n")


def test_parts_keep_their_headers_and_all_that_is_in_them() -> None:
    assert read_parts(ARCHIVE) == (ONE, Part((), "echo two"))


def test_what_was_written_reads_the_same() -> None:
    parts = (ONE, shell_part("#!/bin/sh\necho 'grüße'"), shell_part(""))
    assert read_parts(write_parts(parts)) == parts


def test_lines_end_as_unix_ends_them() -> None:
    assert read_parts(ARCHIVE.replace("\n", "\r\n")) == read_parts(ARCHIVE)
    assert "\r" not in write_parts([shell_part("echo\r\n")])


def test_a_boundary_that_stands_in_a_part_is_not_taken() -> None:
    parts = (shell_part("--//\nnot the end\n--//--"),)
    assert read_parts(write_parts(parts)) == parts


def test_an_archive_inside_an_archive_stays_whole() -> None:
    inner = Part((("Content-Type", 'multipart/mixed; boundary="IN"'),), "--IN\n\necho\n--IN--")
    assert read_parts(write_parts([inner])) == (inner,)


@pytest.mark.parametrize(
    "text", [ARCHIVE, "MIME-Version: 1.0\n", "  \nmime-version: 1.0\n", "content-type: text/plain\n"]
)
def test_archives_are_told_by_their_first_header(text: str) -> None:
    assert is_archive(text)


@pytest.mark.parametrize("text", ["", "#!/bin/sh\n", "echo MIME-Version:\n", "[settings]\n"])
def test_other_texts_are_none(text: str) -> None:
    assert not is_archive(text)


@pytest.mark.aws("AWS-170")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "MIME-Version: 1.0\nContent-Type: text/plain\n\nhello",
            "spec.userData: it is 'text/plain' (accepted: a multipart",
        ),
        ("Content-Type: multipart/mixed\n\nhello", "spec.userData: the archive names no boundary (accepted: "),
        (ARCHIVE.replace("--EDGE--", ""), "spec.userData: the archive breaks off (accepted: '--EDGE--' on a line"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_field(text: str, message: str) -> None:
    with pytest.raises(InvalidObject) as caught:
        read_parts(text)
    assert str(caught.value).startswith(message)
