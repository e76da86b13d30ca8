"""All that is known of a change that came without a plan.

change      what a change says of itself, and how large it is
gather      all of these for a change that came without a plan, and what it comes to
moved_code  both sides of what moved, and what flows where
"""
