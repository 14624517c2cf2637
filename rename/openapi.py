import json,re,sys
M=dict(x.split(' ') for x in """Problem ApiProblem
Audit AuditPage
Verification AuditCheckReport
Diff ThreadDiff
File DiffFile
Applied ApplyResult
Undone UndoResult
Message ChatMessage
Answers InterruptAnswers
Decision PersonDecision
Cancelled CancelResult
Upload UploadInfo
Info ServerInfo
Sizes SizeLimits
Mode ModeInfo
Row ModeValueRow
Evidence EvidenceText
Started StartedRun
Run RunInfo
Artifact RunFile
Listed RunList
GateWord GateReply
Thread ChatThread
Turn ChatTurn
Spent SpentUsage
Taken TakeoverResult
Records SupervisorRecords
Threads ThreadList
Switch ModeHistoryEntry
Tools ThreadTools""".split('\n'))
t=open('openapi.json').read(); d=json.loads(t)
comp=d['components']['schemas']
print(sorted(comp)); print([k for k in M if k not in comp])
print(json.dumps(comp.get('Modes'),indent=1))
print(json.dumps(d,indent=2,ensure_ascii=False)==t, json.dumps(d,indent=2,ensure_ascii=False)+'\n'==t, list(comp)==sorted(comp))
print([ (p,m) for p,v in d['paths'].items() for m,o in v.items() if '/Modes"' in json.dumps(o)])
M['Modes']='ModeList'
def walk(x):
    if isinstance(x,dict):
        return {k:(re.sub(r'^(#/components/schemas/)(\w+)$',lambda m:m[1]+M.get(m[2],m[2]),v) if k=='$ref' else walk(v)) for k,v in x.items()}
    if isinstance(x,list): return [walk(v) for v in x]
    return x
d=walk(d)
c={M.get(k,k):v for k,v in d['components']['schemas'].items()}
c['ModeHistory']={"type":"object","description":"The mode switches of a thread.","required":["history"],"properties":{"history":{"type":"array","items":{"$ref":"#/components/schemas/ModeHistoryEntry"}}}}
d['components']['schemas']={k:c[k] for k in sorted(c)}
s=json.dumps(d['paths']['/api/threads/{id}/modes']).replace('schemas/ModeList"','schemas/ModeHistory"')
d['paths']['/api/threads/{id}/modes']=json.loads(s)
open('openapi.json','w').write(json.dumps(d,indent=2,ensure_ascii=False)+'\n')
