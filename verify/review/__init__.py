"""All that is known of a change that came without a plan.

gather      all of these for a change that came without a plan, and what it comes to
moved_code  both sides of what moved, and what flows where
"""
