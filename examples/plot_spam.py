"""Spam: which words decide, and why was this message flagged?

A support vector machine on `Words()` is linear in the words of a text, so the weight of each word is known exactly. Set
REPRESENTER_DATA to a folder with sms_spam.tsv (label, text) for the SMS Spam Collection; otherwise sentences are
simulated from two lists of phrases.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from representer import SVC
from representer.kernels import Normalized, Words

rng = np.random.default_rng(0)
file = Path(os.environ.get("REPRESENTER_DATA", ".")) / "sms_spam.tsv"
if file.exists():
    lines = [line.split("\t", 1) for line in file.read_text(encoding="utf-8").splitlines()]
    lines = [lines[i] for i in rng.permutation(len(lines))[:2000]]
    texts, spam = [line[1] for line in lines], np.array([line[0] == "spam" for line in lines])
else:
    common = ["call me", "today", "at the office", "before noon", "please", "thank you", "tomorrow", "see you"]
    friends = [*common, "are you home", "lunch", "love you", "at school", "coming late", "my bus"]
    sellers = [*common, "free prize", "win cash", "urgent", "claim now", "txt stop", "mobile offer"]
    spam = np.arange(300) % 5 == 0
    texts = [" ".join(rng.choice(sellers if each else friends, 5)) for each in spam]

half = len(texts) // 2
model = SVC(kernel=Normalized(Words()), C=10.0).fit(texts[:half], spam[:half])
print(f"accuracy on other messages: {model.score(texts[half:], spam[half:]):.3f}")

held = next(text for text in texts[half:] if model.predict([text])[0])
why = model.function_.explain([held], n=6)
print(held, why, sep="\n")
for number, added in why.inputs[:3]:
    print(f"  {added:+.3f} because of: {model.function_.X[number]}")

words, weights = zip(*model.function_.features(24), strict=True)
figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
order = np.argsort(weights)
axes.barh(
    [words[i] for i in order], [weights[i] for i in order], color=["C3" if weights[i] > 0 else "C0" for i in order]
)
axes.set_xlabel("weight of the word")
axes.set_title("Words of spam (red) and of friends (blue)")
plt.show()
