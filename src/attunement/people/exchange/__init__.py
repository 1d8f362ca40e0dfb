"""Units go out to be rated elsewhere, in Label Studio, in Argilla or in a spreadsheet, and come back as ratings."""
