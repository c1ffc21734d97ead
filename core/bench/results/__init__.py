"""The results of benchmarks: records, statistics, reports, and saved runs."""
