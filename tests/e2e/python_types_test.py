"""The Python module in an editor and in a notebook: stubs, types and displays."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

from program import BINARY

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "python/examples/laptime.ipynb"


def python(*words, **more) -> subprocess.CompletedProcess:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "LAPTIME_BINARY": str(BINARY), **more.pop("env", {})}
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=environment, **more)


class Types(unittest.TestCase):
    def test_stubs_match_the_option_tables(self):
        done = python(str(ROOT / "tools/python_stub.py"), "--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def mypy(self, code: str) -> str:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "user.py"
            file.write_text(textwrap.dedent(code))
            return python("-m", "mypy", "--cache-dir", f"{folder}/cache", str(file), env={"MYPYPATH": str(ROOT / "python")}).stdout

    def test_mypy_accepts_valid_calls(self):
        output = self.mypy("""
            import laptime

            records = laptime.bench(model="small", context=[128, 256], dtype="bfloat16", pass_="forward")
            seconds: float = records[0].median_s
            count: int = len(laptime.show("model = small", last=True))
            table = laptime.compare("a.json", "b.json", fail_above="5%").to_pandas()
            page: laptime.Page = laptime.report(html="page.html")
            text: str = laptime.export("folded").text
            with laptime.phase("data"):
                pass
            laptime.measure(lambda: None, tokens=10, name="mine")
        """)
        self.assertIn("Success", output)

    def test_mypy_rejects_unknown_options(self):
        for call, name in (('laptime.bench(modle="small")', "modle"), ("laptime.plan(contxt=1)", "contxt"),
                           ("laptime.measure(print, token=1)", "token")):
            output = self.mypy(f"import laptime\n{call}\n")
            self.assertIn(f'Unexpected keyword argument "{name}"', output)


class Notebook(unittest.TestCase):
    RUNNER = """
        import json, sys
        from IPython.core.interactiveshell import InteractiveShell

        shell = InteractiveShell.instance()
        for cell in json.load(open(sys.argv[1]))["cells"]:
            if cell["cell_type"] != "code":
                continue
            result = shell.run_cell("".join(cell["source"]))
            result.raise_error()
            if result.result is not None:
                data, _ = shell.display_formatter.format(result.result)
                print(json.dumps({"kinds": sorted(data), "html": data.get("text/html", "")}))
    """

    def test_every_cell_of_the_example_runs(self):
        with tempfile.TemporaryDirectory() as home:
            done = python("-c", textwrap.dedent(self.RUNNER), str(NOTEBOOK), env={"HOME": home}, cwd=home)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        shown = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"kinds"')]
        records = shown[0]["html"]
        for word in ("<table>", "interval", "faster than the first", "tokens/s", "±"):
            self.assertIn(word, records)
        self.assertGreaterEqual(sum("<table" in one["html"] for one in shown), 6)


if __name__ == "__main__":
    unittest.main()
