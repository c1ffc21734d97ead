"""The encoding of a text is detected, named when it is a guess, and bytes that do not fit it are not lost."""

from __future__ import annotations

import codecs
from pathlib import Path

import pytest

from lamella.core.errors import FileProblem
from lamella.core.transfer.saving import save_edits
from tests.core.datasets.test_regional import opened


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("имя,город\nИван,Москва\nМария,Санкт-Петербург\nПётр,Новосибирск\n", "cp1251"),
        ("miasto,ulica\nŁódź,Żółkiewskiego\nGdańsk,Długa\nKraków,Świętej Anny\nWrocław,Piękna\n", "cp1250"),
        ("name,city\nJürgen,Köln\nFrançois,Besançon\nMüller,Groß-Gerau\n", "cp1252"),
        ("名前,都市\n山田太郎,東京都千代田区\n鈴木花子,大阪市北区\n佐藤一郎,名古屋市中区\n", "cp932"),
    ],
)  # fmt: skip
def test_the_encoding_is_found_by_the_bytes(tmp_path: Path, text: str, encoding: str) -> None:
    dataset = opened(tmp_path / "x.csv", (text * 5).encode(encoding))
    first = text.splitlines()[1].split(",")
    assert list(dataset.read(limit=1).to_pylist()[0].values()) == first
    assert bool(dataset.remarks) == (encoding != "cp1252")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("a,b\nNot much\u00a0,1\nabout\u00a0half,2\n", "mac_roman"),
        ("a,b\nhe said “this is it.”,1\n", "mac_roman"),
        ("a,b\n5 – 10,1\n10 – 20,2\n", "mac_roman"),
        ("a,b\nit isn’t “here”,1\nRodríguez waits…,2\nAndré – the elder,3\n", "mac_roman"),
        ("a,b\nThe NIÑO of El Niño,1\nÉvora – Óscar,2\n", "cp1252"),
        ("a,b\nÉ preciso já,1\nÀ la carte: “É”,2\n", "cp1252"),
        ("a,b\nŁódź,1\nŻółkiewskiego,2\nGdańsk,3\nWrocław,4\n", "cp1250"),
    ],
)
def test_texts_of_macs_are_recognised_by_their_signs(tmp_path: Path, text: str, encoding: str) -> None:
    dataset = opened(tmp_path / "x.csv", text.encode(encoding))
    assert dataset.read(["a"])["a"].to_pylist() == [line.split(",")[0] for line in text.splitlines()[1:]]


def test_an_encoding_that_is_only_guessed_refuses_no_file(tmp_path: Path) -> None:
    text = "miasto\nŁódź\nŻółkiew\nGdańsk\nWrocław\n" * 2_000
    content = text.encode("cp1250")
    for times in (1, 25):  # within the bytes that the encoding is guessed from, and behind them
        dataset = opened(tmp_path / f"{times}.csv", b"a\n" + content * times + b"Gda\xf1sk\x81\n")
        assert dataset.read(["a"])["a"].to_pylist()[-1] == "Gdańsk\x81"
    with pytest.raises(FileProblem, match="in line 2 that are not cp1250"):
        opened(tmp_path / "named.csv", b"a\nGda\xf1sk\x81\n" + content, encoding="cp1250").read()


def test_broken_places_of_utf8_are_counted(tmp_path: Path) -> None:
    content = "a\n" + "é\n" * 50
    broken = content.encode().replace(b"\xc3\xa9\n", b"\xe9\n", 3)
    with pytest.raises(
        FileProblem, match=r"in line 2 that are not utf-8.*there are 2 more such places"
    ) as refusal:
        opened(tmp_path / "x.csv", broken).read()
    assert refusal.value.text_in("command").endswith(
        "leave such lines out (--bad-lines set-aside), or read these bytes as '\ufffd' (--bad-bytes replace)."
    )
    dataset = opened(tmp_path / "x.csv", broken, bad_lines="set-aside")
    assert dataset.read().num_rows == 47


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "cp1251"])
def test_the_encoding_is_found_behind_megabytes_of_ascii(tmp_path: Path, encoding: str) -> None:
    before = b"city\n" + b"Oslo the capital\n" * 70_000
    text = "Málaga\nDébâcle à l'été\n" if encoding == "cp1252" else "Москва\nСанкт-Петербург\nНовгород\n"
    dataset = opened(tmp_path / "x.csv", before + (text * 5).encode(encoding))
    assert dataset.read(["city"])["city"].to_pylist()[70_000:] == (text * 5).split("\n")[:-1]
    late = ("Read as cp1251 from line 70,002 on, as its bytes suggest",)
    assert dataset.remarks == (late if encoding == "cp1251" else ())


@pytest.mark.parametrize(
    ("encoding", "line"), [(None, "é\n".encode("cp1252")), ("shift_jis", b"\x83\n"), ("cp1253", b"\xd2\n")]
)
def test_bytes_that_are_not_valid_are_replaced_and_counted(
    tmp_path: Path, encoding: str | None, line: bytes
) -> None:
    content = b"a,b\n" + b"x,y\n" * 3 + "é,y\nü,y\n".encode() * (encoding is None) + b"z," + line
    dataset = opened(tmp_path / "x.csv", content, encoding=encoding, bad_bytes="replace")
    assert dataset.read(["b"])["b"].to_pylist()[-1] == "\ufffd"
    lines, name = content.count(b"\n"), codecs.lookup(encoding or "utf-8").name
    assert dataset.remarks == (f"1 place is not valid {name} and read as '\ufffd', line {lines} first",)


def test_a_file_with_replaced_bytes_is_not_written(tmp_path: Path) -> None:
    content = b"a,b\n\xc3\xa9,1\n\xe9,2\n"
    dataset = opened(tmp_path / "x.csv", content, bad_bytes="replace")
    with pytest.raises(FileProblem, match="other characters for bytes"):
        save_edits(dataset, {0: {"b": 7}})
    assert (tmp_path / "x.csv").read_bytes() == content


def test_an_encoding_found_late_is_that_of_saved_edits(tmp_path: Path) -> None:
    before = b"city,n\n" + b"Oslo is the capital,1\n" * 50_000
    after = ("Москва,2\nСанкт-Петербург,3\n" * 5).encode("cp1251")
    save_edits(opened(tmp_path / "x.csv", before + after), {50_000: {"city": "Тверь"}, 50_001: {"n": 4}})
    edited = "Тверь,2\nСанкт-Петербург,4\n".encode("cp1251") + after.split(b"\n", 2)[2]
    assert (tmp_path / "x.csv").read_bytes() == before + edited
