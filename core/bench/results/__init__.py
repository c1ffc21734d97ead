"""What races measured: records, statistics, reports, and the runs that are kept."""
