import Sequencer from '@jest/test-sequencer';

/** The suites that take longest: if one of them began last, the other worker would be idle meanwhile. */
const long = [
  'infrastructure/growth-requests',
  'e2e/commands',
  'page/request-logs',
  'page/keys',
  'torture/kill',
  'e2e/export',
  'torture/faults',
  'e2e/process-life',
  'infrastructure/growth-answers',
  'torture/hard-limit',
  'e2e/second-factor',
  'e2e/journal',
  'e2e/keep-alive',
  'e2e/telemetry-collector',
  'e2e/admin-command',
  'recordings/anthropic-platform',
  'e2e/canary',
  'e2e/payload-values',
  'e2e/serve-process',
  'e2e/tls',
  'e2e/alert-mails',
  'infrastructure/embedded-postgres',
  'contract/ledger-outages',
  'contract/new-provider',
  'hazards/streams',
  'e2e/purge',
  'contract/purge-days',
  'e2e/admin-keys',
  'e2e/identity',
  'page/keyboard',
  'deploy/package',
  'e2e/recovery',
  'docs/recovery',
  'docs/commands',
];

const place = (path) => {
  const found = long.findIndex((name) => path.endsWith(`/test/${name}.test.ts`));
  return found === -1 ? long.length : found;
};

/** Jest orders suites by their times in the run before, which a fresh checkout does not have. */
export default class LongSuitesFirst extends Sequencer {
  sort(tests) {
    return super.sort(tests).toSorted((left, right) => place(left.path) - place(right.path));
  }
}
