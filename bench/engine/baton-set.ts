/** The partition-set that the benchmark writes to. */
export const PARTITION_SET = 'documents';
