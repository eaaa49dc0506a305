#!/usr/bin/env python3
"""Writes the DBLP network of four areas as tables for `rodeo_data import csv`: dblp_csv.py FOLDER OUT

FOLDER has the tab-separated files of the set (author_label.txt, paper_author.txt, paper_conf.txt, paper_term.txt, term.txt). The
graph is the usual one: the authors with a label, their papers, and the venues and terms of these, stop words left out. OUT gets a
table for each type and relation, and `import.txt`, the command that imports them. Labels are the areas; an author's features are
the words that at least 1 % and at most half of the authors have in titles, as counts. --split-seed draws 400 authors for training,
400 for validation and the others for testing.
"""
import argparse
import collections
import csv
import os
import random

AREAS = ("database", "data mining", "artificial intelligence", "information retrieval")
STOP_WORDS = set("""a about above after again all an and any are as at be been before being below between both but by can could did do
does doing down during each few for from further had has have having he her here how i if in into is it its itself me more most my no
nor not of off on once only or other our out over own s same she should so some such t than that the their them then there these they
this those through to too under until up very was we were what when where which while who whom why will with without you your via
using based toward towards""".split())
RELATIONS = (("author", "writes", "paper"), ("paper", "in", "venue"), ("paper", "has", "term"))


def rows(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return [line.rstrip("\r\n").split("\t") for line in file if line.strip()]


def write(out, name, header, lines):
    with open(os.path.join(out, name), "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--split-seed", type=int, default=0)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)

    area = {author: int(label) for author, label, *_ in rows(args.folder, "author_label.txt")}
    words = {term: word for term, word, *_ in rows(args.folder, "term.txt") if word.lower() not in STOP_WORDS}
    writes = [(author, paper) for paper, author, *_ in rows(args.folder, "paper_author.txt") if author in area]
    papers = dict.fromkeys(paper for _, paper in writes)
    venues = [(paper, venue) for paper, venue, *_ in rows(args.folder, "paper_conf.txt") if paper in papers]
    terms = [(paper, term) for paper, term, *_ in rows(args.folder, "paper_term.txt") if paper in papers and term in words]

    terms_of = collections.defaultdict(list)
    for paper, term in terms:
        terms_of[paper].append(term)
    counts = {author: collections.Counter() for author in area}
    for author, paper in writes:
        counts[author].update(terms_of[paper])
    authors_of = collections.Counter(term for count in counts.values() for term in count)
    features = sorted((term for term, n in authors_of.items() if 0.01 * len(area) <= n <= 0.5 * len(area)), key=int)

    authors = sorted(area, key=int)
    order = authors[:]
    random.Random(args.split_seed).shuffle(order)
    part = {author: "train" if i < 400 else "val" if i < 800 else "test" for i, author in enumerate(order)}
    write(args.out, "author.csv", ["id", "label", "split", *(f"word_{term}" for term in features)],
          ([author, AREAS[area[author]], part[author], *(counts[author][term] for term in features)] for author in authors))
    write(args.out, "paper.csv", ["id"], ([paper] for paper in papers))
    for (source, name, target), edges in zip(RELATIONS, (writes, venues, terms)):
        write(args.out, f"{name}.csv", [source, target], edges)
    command = ["rodeo_data import csv --nodes author=author.csv --nodes paper=paper.csv"]
    command += [f"--edges {source}:{name}:{target}={name}.csv" for source, name, target in RELATIONS]
    with open(os.path.join(args.out, "import.txt"), "w", encoding="utf-8") as file:
        file.write(" ".join([*command, "dblp.h5"]) + "\n")
    print(f"{args.out}: {len(area)} authors with {len(features)} features, {len(papers)} papers, "
          f"{len({venue for _, venue in venues})} venues, {len({term for _, term in terms})} terms; "
          f"{len(writes)} + {len(venues)} + {len(terms)} edges")


if __name__ == "__main__":
    main()
