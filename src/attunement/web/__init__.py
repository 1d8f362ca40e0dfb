"""The web pages where raters rate, reviewers review and a coordinator follows the progress."""
