"""What benchmarks measured: records, statistics, reports, and the runs that are saved."""
