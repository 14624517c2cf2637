import json, sys
rid = sys.argv[1]; seen = set()
for l in open(f'logs/{rid}.jsonl'):
    d = json.loads(l)
    if 'TURN' in d: print('=== TURN', d['TURN'], d['goal']); continue
    for t in d.get('tail', []):
        if t[0] == 'tool': 
            print(f"[{d['n']}] tool: {t[1][:int(sys.argv[2]) if len(sys.argv) > 2 else 150]!r}")
        elif t[0] == 'user' and (d['n'] > 1) : print(f"[{d['n']}] USER: {t[1]}")
    print(f"[{d.get('n')}] act {json.dumps(d.get('act'), ensure_ascii=False)[:160]}")
