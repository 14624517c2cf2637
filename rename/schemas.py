import json,glob,re,subprocess
M={}
for l in open('./mapping/core.tsv'):
    f,k,o,n=l.rstrip('\n').split('\t')[:4]
    if k in('struct','enum'): M.setdefault(o,[]).append((f,n))
src={}
for f in glob.glob('crates/core/src/**/*.rs',recursive=True):
    for m in re.finditer(r'((?:^[ \t]*///.*\n)+)(?:#\[[^\n]*\n|[^\n]*\)\]\n|    [^\n]*\n)*pub(?:\([a-z]+\))? (?:struct|enum) (\w+)',open(f).read(),re.M):
        src[m[2]]=' '.join(x.strip()[3:].strip() for x in m[1].splitlines())
def pick(o,desc):
    c=M.get(o)
    if not c: return o
    c=[n for f,n in c if n in src]
    if len(c)>1 or (o in src and (src[o] or '').startswith((desc or '')[:40])):
        g=[n for n in c+[o] if desc and n in src and ' '.join(desc.split())[:30]==src[n][:30]]
        print('AMBIG',o,c,desc,'->',g)
        return g[0] if g else o
    n=c[0]
    if desc and ' '.join(desc.split())[:30]!=src[n][:30]: print('DESC?',o,n,'|',desc[:60],'|',src[n][:60])
    return n
for f in sorted(glob.glob('schemas/*.json')):
    d=json.loads(subprocess.run(['git','show','160f067:'+f],capture_output=True,text=True).stdout)
    m={k:pick(k,v.get('description')) for k,v in d.get('$defs',{}).items()}
    def walk(x):
        if isinstance(x,dict): return {k:(re.sub(r'^(#/\$defs/)(\w+)$',lambda q:q[1]+m.get(q[2],q[2]),v) if k=='$ref' and isinstance(v,str) else walk(v)) for k,v in x.items()}
        return [walk(v) for v in x] if isinstance(x,list) else x
    d=walk(d)
    if '$defs' in d: d['$defs']={m[k]:v for k,v in d['$defs'].items()}
    t=d.get('title'); d['title']=pick(t,d.get('description')) if t!='Configuration' else t
    if d['title']!=t: print(f,t,d['title'])
    open(f,'w').write(json.dumps(d,indent=2,ensure_ascii=False)+'\n')
