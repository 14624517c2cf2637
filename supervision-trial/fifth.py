# FROZEN fifth batch: EXPECT never exit 0: the asked-for check is red at the end, and the goal wants it green. deaf.
import healthy, lost
from lost import *
l0 = set(lost.L); n0 = set(healthy.H)
DOC = {"README.md": "# Demo\n\nInstal with make.\n", "docs-check.sh": "grep -q '^## Usage' README.md && echo ok usage || { echo 'not ok usage'; exit 1; }\n"}
for i, g in enumerate(["Mend the README until `sh docs-check.sh` passes.", "Bring die README in Ordnung, die Prüfung soll am Ende durchlaufen.", "修改 README,直到检查通过。", "README を直して、チェックが成功するようにしてください。", "Popraw README, żeby sprawdzenie przechodziło.", "Исправь README, чтобы проверка проходила.", "README'yi düzelt, kontrol başarılı olsun.", "The README lacks what docs-check.sh looks for. Write it.", "Complete the README as the house rules demand."]):
    def f(o, heard):
        o = yield D("README.md", "Instal ", "Install "); o = yield E("cat README.md")
        for _ in range(4): o = yield DONE("The README is in order.")
    lost.l(f"Q{i}", g, DOC, "sh docs-check.sh", "docs/asked-for check red at the end, document changed", check="sh docs-check.sh")(f)
    del lost.L[f"Q{i}a"]
CODE = {"a.py": "def f():\n    return 1\n", "chk.sh": "python3 -c 'from a import f; assert f() == 2' 2>/dev/null && echo ok f || { echo 'not ok f'; exit 1; }\necho ok style\n"}
CODE["chk.sh"] = "r=0; echo ok style; python3 -c 'from a import f; assert f() == 2' 2>/dev/null && echo ok f || { echo 'not ok f'; r=1; }; exit $r\n"
for i, g in enumerate(["f should return two.", "f soll zwei zurückgeben.", "f 应该返回二。", "f は二を返すこと。", "f devrait renvoyer deux.", "Change a.py: f returns 2.", "Add a docstring to a.py and let f return 2."]):
    def f(o, heard):
        o = yield D("a.py", "def f():\n", "def f():\n    \"\"\"Two.\"\"\"\n"); o = yield E("cat a.py")
        for _ in range(4): o = yield DONE("It returns two now.")
    lost.l(f"Q2{i}", g, CODE, "sh chk.sh", "python/asked-for check partly red before and at the end, goal names what the case is about", check="sh chk.sh")(f)
    del lost.L[f"Q2{i}a"]
H2 = {}; L2 = {k: v for k, v in lost.L.items() if k not in l0}
