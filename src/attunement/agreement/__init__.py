"""How far raters agree, how far a judge can be believed, and how sure either is.

Each statistic is one function with a named result, which holds a number or, as `Undefined`, why there is none; each
module is named like its statistic. Functions that end in `_statistic` give the form from which `bootstrap` makes an
interval, over units or over whole conversations, also of the difference of two.

- Do people agree? `alpha`, `kappa`, `fleiss`, `gwet`, `icc`, `percent`
- Does a judge agree with people? the same, and `correlation`, `confusion`, `alternative_annotator`
- What is true when nobody is known to be right? `dawid_skene`, `bradley_terry`
- What is the score once the judge's error is accounted for? `calibration`, `conformal`, `prediction_powered`,
  `rogan_gladen`
- Is one better than the other, and could we have seen it? `means`, `proportions`, `comparing`, `power`
- What all of them stand on: `results`, `tables`, `statistic`, `bootstrap`, `chance`, `distributions`
"""
