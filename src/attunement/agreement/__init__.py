"""How far raters agree, how far a judge can be believed, and how sure either is."""
