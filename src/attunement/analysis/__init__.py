"""From ratings to conclusions: do people agree, how far can a judge be trusted, is one system better than another?"""
