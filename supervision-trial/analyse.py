import json, collections, re, sys
R = {}
for l in list(open('results.jsonl')) + list(open('results2.jsonl')) + list(open('results3.jsonl')):
    d = json.loads(l); R[d['rid']] = d
def den(rid):
    out = []
    for l in open(f'logs/{rid}.jsonl'):
        d = json.loads(l)
        if d.get('error'): out.append('SCRIPTERR ' + d['error'][-200:])
        for t in d.get('tail', []):
            if t[0] == 'tool' and re.search(r'(?i)denied|supervis|not executed|futile', t[1]) and 'denied stays' not in t[1] and 'Permission denied' not in t[1]: out.append(t[1][:300])
    return out
tot = collections.Counter()
for k in sorted(R):
    d = R[k]; off = R.get(f"{d['id']}-{d['kind']}-off"); dn = den(k)
    first = lambda s: s.split('\n')[0][:60]
    flags = []
    if d['id'].startswith('H'):
        if any(c != 0 for c in d['codes']): flags.append(f"codes {d['codes']}")
        if d['good'] is False: flags.append('BAD RESULT')
        if off and d['reqs'] != off['reqs']: flags.append(f"reqs {d['reqs']} vs off {off['reqs']}")
        if off and d['patch'] != off['patch']: flags.append('patch differs from off')
    if any('leads this' in s for s in d['sup']): flags.append('TAKEOVER')
    if dn: flags.append(f'denied {len(dn)}: {dn[0][:160]!r}')
    kinds = collections.Counter('notice' if re.match(r'\[System Recovery\] Noticed', s) else 'advice' if 'Advice from' in s else 'takeover' if 'leads this' in s else 'other:' + first(s) for s in d['sup'])
    if kinds: flags.append(str(dict(kinds)))
    g = d['id'][0] + '/' + d['kind'] + '/' + d['level']; tot[g] += 1
    if d['id'].startswith('L'): print(k, d['codes'], 'good' if d['good'] else 'bad', d['reqs'], flags)
    elif flags: print(k, d['codes'], d['good'], flags)
print(dict(tot))
