"""Remote files: object storage, HDFS and the web, read as if the files were on this machine."""
