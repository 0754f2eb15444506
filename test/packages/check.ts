import { spawnSync } from 'node:child_process';
import { readAudit } from './advisories.ts';
import { licenceFaults } from './licences.ts';
import { packagesOf, readLockfile, registryFaults, root } from './lockfile.ts';

/** A registry that supports audits answers within a second; any other must not delay the check. */
const auditMs = 20_000;

const lockfile = readLockfile();
const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs the npm that started this script, if any: then none has to be on the path. */
function npmAudit(): string {
  const options = ['audit', '--json', '--fetch-retries=0', '--fetch-timeout=10000'];
  const npm = process.env['npm_execpath'];
  const [command, args] = npm === undefined ? ['npm', options] : [process.execPath, [npm, ...options]];
  const { stdout, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8', timeout: auditMs });
  return error === undefined ? stdout : JSON.stringify({ message: error.message });
}

const audit = readAudit(npmAudit(), lockfile);
if (audit.kind === 'unanswered') say(`Advisories: the registry does not answer (${audit.why}); not checked.`);
else for (const note of audit.notes) say(`Advisory, of no consequence for the service: ${note}`);

const faults = [
  ...licenceFaults(lockfile),
  ...registryFaults(lockfile),
  ...(audit.kind === 'answered' ? audit.faults : []),
];
for (const fault of faults) say(`✗ ${fault}`);
if (faults.length === 0) say(`The licences of ${packagesOf(lockfile).length} packages are permissive.`);
process.exitCode = faults.length === 0 ? 0 : 1;
