"""The study, and the benchmarks: what ``gristmill study`` and ``gristmill bench`` run.

A study is made of *cells*: one configuration (a record set, a payload, who runs it, on which nodes, with
how many workers) and one trial of it, measured in a fresh process. plan says which configurations there
are, cell is that process, running starts it and looks at its memory, rows makes one row of the trials of
a configuration and checks it, and table, page and the JSON file show the rows. schema.md beside this
file says what each field means.

Private: the command line and its files are what others may rely on.
"""
