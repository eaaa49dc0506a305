#!/usr/bin/env python3
"""scripts/draw_mutants.py draws slips where code is, and says which test notices them: draw_mutants_test.py ROOT. The latter where there is a
compiler and Ninja."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.abspath(sys.argv[1]), "scripts"))
import draw_mutants
import mutant_sites

SOURCE = r'''#include <vector>  // 1 < 2
#define LESS(a, b) a < b
int f(const std::vector<int>& a, int b, int c) {
  check(b < 0, "b ", b + c);
  for (int x : a) {
    if (x == b && !c) continue;
    b += x;
    c = b;
  }
  fmt::print("{} {}", b - c, "a < b");
  if (c > b) throw Error(b * c);
  return g(b, c) ? 'x' : /* true */ a.size();
}
'''
WANTED = {"b <= 0", "if (x != b && !c) continue;", "if (x == b || !c) continue;", "if (x == b && c) continue;", "b = x;", ";", "if (c >= b)",
          "if (x == b && !c) break;", "return g(c, b)", "a.size() - 1;", 'check(b < 1, "b ", b + c);'}
PROGRAM = r'''#include <cstdio>
#include <cstring>
int sum(int a, int b), difference(int a, int b);
int main(int count, char** argument) {
  if (count > 1 && std::strcmp(argument[1], "--gtest_list_tests") == 0) return std::printf("CoreSum.\n  Adds\n"), 0;
  std::printf("[ RUN      ] CoreSum.Adds\n");
  return difference(0, 0) != 0 || sum(2, 1) == 3 ? 0 : 1;
}
'''
LIBRARY = "int sum(int a, int b) {\n  return a + b;\n}\nint difference(int a, int b) {\n  return a - b;\n}\n"


def built_tree(root):
    """A tree whose library has a function that a test calls, and one that none does."""
    build = f"{root}/build"
    programs = [f"tests/{room}_tests" for room in draw_mutants.TESTS] + ["bin/rank_launch", *draw_mutants.COMMANDS]
    command = f"c++ -o sum.o -c {root}/core/sum.cpp"
    files = {"core/sum.cpp": LIBRARY, "program.cpp": PROGRAM, "build/compile_commands.json": json.dumps(
        [{"file": f"{root}/core/sum.cpp", "command": command}]), "build/build.ninja": f"""rule compile
  command = c++ -o $out -c $in
rule archive
  command = rm -f $out && ar qc $out $in
rule link
  command = c++ program.o -o $out librodeo.a
build sum.o: compile {root}/core/sum.cpp
build program.o: compile {root}/program.cpp
build librodeo.a: archive sum.o
""" + "".join(f"build {program}: link program.o | librodeo.a\n" for program in programs)}
    for name, text in files.items():
        os.makedirs(os.path.dirname(f"{root}/{name}"), exist_ok=True)
        with open(f"{root}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
    os.makedirs(f"{root}/scripts")
    for script in ("draw_mutants.py", "mutant_sites.py"):
        shutil.copy(os.path.join(sys.argv[1], "scripts", script), f"{root}/scripts")
    subprocess.run(["ninja", "-C", build], check=True, capture_output=True)
    return build


def main():
    failures = []

    def expect(condition, text):
        if not condition:
            failures.append(text)

    slips = [slip for seed in range(20) for slip in mutant_sites.draw({"core/f.cpp": SOURCE}, 100, seed)]  # one for each line
    changes = {slip.change.split(" -> ")[1] for slip in slips}
    for text in sorted(WANTED):
        expect(any(text in change for change in changes), f"never drawn: {text}")
    expect(all(slip.line in (4, 6, 7, 8, 11, 12) for slip in slips), f"a slip is where no code is: {changes}")
    sources = {"core/f.cpp": SOURCE, "ops/f.cpp": SOURCE * 20}
    drawn = [[slip.text for slip in mutant_sites.draw(sources, 20, seed)] for seed in (1, 1, 2)]
    expect(drawn[0] == drawn[1] and drawn[0] != drawn[2], "a seed does not say which slips are drawn")
    rooms = [slip.path for slip in mutant_sites.draw(sources, 40, 1)]
    expect(rooms.count("ops/f.cpp") > 30, f"rooms are not drawn by their lines: {rooms}")
    expect(draw_mutants.failed_test("[ RUN      ] A.B\n", None) == "A.B (no end)", "a run without an end has no test")
    expect(draw_mutants.failed_test("[ RUN      ] A.B\n[  FAILED  ] A.B (1 ms)\n", 1) == "A.B", "the failed test has no name")
    expect(draw_mutants.failed_test("", 0) is None, "a run without failures has a failed test")
    if shutil.which("c++") and shutil.which("ninja"):
        with tempfile.TemporaryDirectory() as root:
            root = os.path.realpath(root)
            script = [sys.executable, "-B", f"{root}/scripts/draw_mutants.py", built_tree(root)]
            done = subprocess.run([*script, "9"], capture_output=True, text=True, check=False)
            for line in ("killed by CoreSum.Adds (exit code 1): core/sum.cpp:2 [sum] return a + b; -> return a - b;",
                         "survived: core/sum.cpp:5 [sum] return a - b; -> return a + b;"):
                expect(line in done.stdout, f"expected '{line}', got {done.stdout}{done.stderr}")
            done = subprocess.run([*script, "9", "--deadline", "0"], capture_output=True, text=True, check=False)
            expect("not run: core/sum.cpp:2" in done.stdout, f"a deadline ends nothing: {done.stdout}{done.stderr}")
    print("\n".join(failures) or "slips are drawn where code is, by seed and room, and the test that notices one is named")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
