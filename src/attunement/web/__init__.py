"""The pages where people work on a study: raters rate, and a coordinator sees how it goes."""
