"""Made taxi trips with the 51 columns of the published benchmark, and its four queries."""
