"""Files that lie elsewhere: object storage, HDFS and the web, read as if they were on this machine."""
