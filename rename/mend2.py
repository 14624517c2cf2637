import re,subprocess,os,sys
os.chdir(sys.argv[1])
fs=[f for f in subprocess.run(['git','ls-files','-co','--exclude-standard','*.rs'],capture_output=True,text=True).stdout.split() if os.path.isfile(f) and not f.startswith('bench/tasks')]
for f in fs:
    t=open(f).read(); b=t
    def stmt(m):
        s=m[0]
        def al(a):
            name,alias=a[1],a[2]
            if alias=='_' : return a[0]
            if name==alias: print(f,'SELF',a[0]); return name
            n=len(re.findall(r'\b'+alias+r'\b',t))
            k=len(re.findall(r'\b'+name+r'\b',t))
            # alias unused elsewhere in the file
            if n==1 and k>1:
                print(f,a[0],n,k, 'PUB' if 'pub' in s[:4] else '')
                return name
            return a[0]
        return re.sub(r'\b(\w+) as (\w+)\b',al,s)
    t=re.sub(r'^[ \t]*(?:pub(?:\([^)]*\))? )?use [^;]*;',stmt,t,flags=re.M)
    if t!=b: open(f,'w').write(t)
