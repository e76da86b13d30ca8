"""All that is known of a change that came without a plan."""
