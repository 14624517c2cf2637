import json,re,collections
seen=collections.OrderedDict()
for f in ('results.jsonl','results2.jsonl'):
  for l in open(f):
    d=json.loads(l)
    for s in d['sup']:
      for ln in s.split('\n'):
        k=(d['id'],re.sub(r'\d+','#',ln))
        seen.setdefault(k,[ln,set()])[1].add(d['kind'][0]+'/'+d['level'][:2])
cur=None
for (i,_),(ln,w) in seen.items():
    if i!=cur: print('##',i); cur=i
    print('   ',ln[:330],' <',','.join(sorted(w)),'>')
