"""What is claimed of performance, measured beside what it is compared with."""
