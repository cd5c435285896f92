"""The walk of a question, from what an analyst wrote to what an engine will run; data is never touched.

    language   text, dataframe or Ibis                ->  Plan        (`plan`)
    catalog    manifest or arguments                  ->  Catalog
    check      Plan + Catalog                         ->  Checked     whose row, what moves, by how much
    price      Checked + budget                       ->  Quote       which noise, at which cost, how far off
    rewrite    Checked                                ->  Statements  (`statement`), in no engine's dialect
    proof      Statements + declarations + claim      ->  Proof       or refused; trusts none of the above

`plan` and `statement` are the two small languages that the rooms speak with each other; `name` says when two
identifiers are the same.
"""
