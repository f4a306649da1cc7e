"""Record batches: their headers, records, control records and compression."""
