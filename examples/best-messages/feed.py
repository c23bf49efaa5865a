"""Keep the best posts of the last hour for each reader, and print what each post changes."""

import json

import tocsin

with open("posts.jsonl", encoding="utf-8") as file:
    posts = [json.loads(line) for line in file]

english = tocsin.Text("english", stem=True, drop_stop_words=True)
window = tocsin.Window(time=3600, bounds=(2.2, 48.8, 2.5, 48.95), text=english)
window.subscribe_many("readers.jsonl")

for post in posts:
    for change in window.push(**post):
        print(f"{post['key']}: {change.kind:5} {change.subscription} {change.message} {change.score:.2f}")

for reader in window:
    print(reader, [key for key, score in window.results(reader)])
print(window.explain("zoe", "b"))
