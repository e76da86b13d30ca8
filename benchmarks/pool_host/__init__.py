"""Host pools: allocation and release beside what else there is."""
