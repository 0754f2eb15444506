/** The suites that run on a cluster as they are, by their files. */
export const suites: readonly string[] = [
  'test/contract/ledger-suite.test.ts',
  'test/contract/ledger-store.test.ts',
  'test/contract/ledger-request-ids.test.ts',
  'test/contract/rate-limits.test.ts',
  'test/contract/budget-spend.test.ts',
  'test/contract/model-list.test.ts',
  'test/contract/object-list.test.ts',
  'test/contract/admin-objects.test.ts',
  'test/contract/search.test.ts',
  'test/contract/session-store.test.ts',
  'test/contract/alert-delivery.test.ts',
];
