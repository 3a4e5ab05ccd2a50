"""Train the sentence judge from the labelled lines beside this file: `python -m training.train [--test]`."""
from __future__ import annotations
import sys, random, json, math, collections
from infold.folding.judge import tokens, features

def train(data, epochs=12, l2=1e-5, min_count=2, lr=0.3, seed=1):
    labels=sorted({l for l,_ in data})
    counts=collections.Counter(f for _,fs in data for f in set(fs))
    data=[(labels.index(l),[f for f in set(fs) if counts[f]>=min_count]) for l,fs in data]
    W={}  # feature -> list
    n=len(labels); G={}
    bias=[0.0]*n
    R=random.Random(seed)
    for ep in range(epochs):
        R.shuffle(data)
        for y,fs in data:
            fs=sorted(fs)
            s=bias[:]
            norm=1/math.sqrt(len(fs)+1)
            for f in fs:
                w=W.get(f)
                if w:
                    for i in range(n): s[i]+=w[i]*norm
            m=max(s); e=[math.exp(x-m) for x in s]; z=sum(e)
            for i in range(n):
                g=e[i]/z-(i==y)
                if abs(g)<0.01: continue
                bias[i]-=lr*0.1*g
                for f in fs:
                    w=W.get(f)
                    if w is None: w=W[f]=[0.0]*n; G[f]=[0.01]*n
                    gg=g*norm+l2*w[i]
                    G[f][i]+=gg*gg
                    w[i]-=lr*gg/math.sqrt(G[f][i])
    return labels,bias,W

def predict(model,fs):
    labels,bias,W=model
    fs=[f for f in set(fs) if f in W]
    norm=1/math.sqrt(len(fs)+1)
    s=bias[:]
    for f in fs:
        w=W[f]
        for i in range(len(s)): s[i]+=w[i]*norm
    return s

def shipped(models):
    labels=next(iter(models.values()))[0]
    out={"labels":labels}
    for role,(l,bias,W) in models.items():
        assert l==labels
        ws={}
        for f in sorted(W):
            pairs=[[i,round(w*100)] for i,w in enumerate(W[f]) if abs(w)>=0.05]
            if pairs: ws[f]=pairs
        out[role]={"bias":[round(b,3) for b in bias],"weights":ws}
    return out
