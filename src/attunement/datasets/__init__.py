"""Public data sets that people rated: one reader for each.

A reader turns a folder of published files into conversations, instruments and ratings. The data are not part of this
package; `catalogue` says where to get them.
"""
