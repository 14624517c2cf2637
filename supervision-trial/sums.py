import json, collections, re
R={}
for f in ('results.jsonl','results2.jsonl'):
    for l in open(f):
        d=json.loads(l); R[d['rid']]=d
def denied(rid):
    for l in open(f'logs/{rid}.jsonl'):
        for t in json.loads(l).get('tail',[]):
            if t[0]=='tool' and t[1].startswith('Not executed:'): return True
LT={'H31','H41'}  # contain a lost turn on purpose
T=collections.defaultdict(collections.Counter); W=collections.defaultdict(list)
for r,d in sorted(R.items()):
    off=R.get(f"{d['id']}-{d['kind']}-off"); k=(d['id'][0],d['kind'],d['level']); t=T[k]; t['n']+=1
    sup=[s for s in d['sup'] if '[System Recovery]' in s]
    if d['id'][0]=='H':
        if d['id'] in LT: t['with a lost turn']+=1; continue
        fl=[]
        if any(c!=0 for c in d['codes']): fl.append('exit'); 
        if d['good'] is False: fl.append('bad result')
        if any('leads this' in s for s in sup): fl.append('takeover')
        if denied(r): fl.append('denied')
        if sup: fl.append('heard')
        if off and off['patch']!=d['patch'] and d['kind']=='run': fl.append('patch differs')
        if off and off['reqs']<d['reqs']: fl.append('more rounds')
        if off and d['tokens']>off['tokens']*1.01: fl.append('more than 1% tokens')
        if off: t['off known']+=1
        for x in fl: t[x]+=1; W[(k,x)].append(d['id'])
    else:
        ok=d['codes']==[0] and d['good']
        key=('listener ' if d['id'].endswith('a') else 'deaf ')+('exit %s %s'%(d['codes'][0],'good' if d['good'] else 'bad'))
        t[key]+=1; W[(k,key)].append(d['id'])
for k in sorted(T): print(k, dict(T[k]))
for k in sorted(W): print(k[0],k[1],W[k])
