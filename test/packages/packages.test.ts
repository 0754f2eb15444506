import { describe, expect, it } from '@jest/globals';
import { readAudit } from './advisories.ts';
import { isPermissive, licenceFaults } from './licences.ts';
import { readLockfile, registryFaults } from './lockfile.ts';

describe('a licence expression', () => {
  it.each([
    'MIT',
    '(MIT)',
    'MIT OR GPL-3.0-only',
    'GPL-3.0-only OR MIT',
    'MIT AND ISC',
    '(AFL-2.1 OR BSD-3-Clause)',
    'MIT AND (GPL-2.0-only OR Apache-2.0)',
    'GPL-2.0-only AND ISC OR MIT',
  ])('is permissive: %s', (expression) => {
    expect(isPermissive(expression)).toBe(true);
  });

  it.each([
    '',
    'GPL-3.0-only',
    'mit',
    'UNLICENSED',
    'SEE LICENSE IN LICENSE',
    'MIT AND GPL-3.0-only',
    'MIT OR',
    '(MIT',
    'MIT)',
    'MIT ISC',
    'MIT WITH something',
    'GPL-2.0-only AND (MIT OR ISC)',
  ])('is not permissive: %s', (expression) => {
    expect(isPermissive(expression)).toBe(false);
  });
});

describe('the packages of a lockfile', () => {
  it('are reported if their licence is not permissive or missing', () => {
    const packages = {
      '': { license: 'Apache-2.0' },
      'node_modules/a': { version: '1.0.0', license: 'MIT' },
      'node_modules/a/node_modules/@b/c': { version: '2.0.0', license: 'AGPL-3.0-only' },
      'node_modules/d': { version: '3.0.0' },
      'node_modules/caniuse-lite': { version: '4.0.0', license: 'CC-BY-4.0' },
      'node_modules/e': { version: '5.0.0', license: 'CC-BY-4.0' },
    };
    expect(licenceFaults({ packages })).toEqual([
      expect.stringMatching(/^@b\/c@2\.0\.0 is under AGPL-3\.0-only, /),
      expect.stringMatching(/^d@3\.0\.0 says no licence, /),
      expect.stringMatching(/^e@5\.0\.0 is under CC-BY-4\.0, /),
    ]);
  });

  it('are reported if they are locked to a registry', () => {
    const packages = { 'node_modules/a': { resolved: 'https://registry.example.com/a.tgz' } };
    expect(registryFaults({ packages })).toEqual([expect.stringMatching(/^a is locked to one registry/)]);
  });

  it('of the project all have permissive licences, and none is locked to a registry', () => {
    const lockfile = readLockfile();
    expect(Object.keys(lockfile.packages).length).toBeGreaterThan(300);
    expect([...licenceFaults(lockfile), ...registryFaults(lockfile)]).toEqual([]);
  });
});

describe('the output of npm audit', () => {
  const lockfile = {
    packages: {
      'node_modules/run': { version: '1.0.0' },
      'node_modules/tool': { version: '1.0.0', dev: true },
      'node_modules/run/node_modules/tool': { version: '2.0.0' },
    },
  };
  const audit = (name: string, severity: string, nodes: readonly string[], via: unknown = ['other']) =>
    readAudit(JSON.stringify({ vulnerabilities: { [name]: { severity, via, nodes } } }), lockfile);

  it.each(['high', 'critical'])('has a fault for a %s advisory of a runtime package', (severity) => {
    const via = [{ title: 'It falls over', url: 'https://example.com/1' }, 'deep'];
    expect(audit('run', severity, ['node_modules/run'], via)).toEqual({
      kind: 'answered',
      faults: [`run (${severity}): It falls over https://example.com/1; by deep [node_modules/run]`],
      notes: [],
    });
    expect(
      audit('tool', severity, ['node_modules/tool', 'node_modules/run/node_modules/tool']),
    ).toMatchObject({
      faults: [expect.stringMatching(/^tool/)],
    });
  });

  it.each([
    ['moderate, in a runtime package', 'run', 'moderate', 'node_modules/run'],
    ['critical, in a development package', 'tool', 'critical', 'node_modules/tool'],
  ])('has a note and no fault for an advisory: %s', (_, name, severity, node) => {
    expect(audit(name, severity, [node])).toMatchObject({ faults: [], notes: [expect.any(String)] });
  });

  it('has no faults and no notes without an advisory', () => {
    expect(readAudit('{"vulnerabilities":{}}', lockfile)).toEqual({
      kind: 'answered',
      faults: [],
      notes: [],
    });
  });

  it.each([
    ['{"message":"405 Method Not Allowed","error":{}}', '405 Method Not Allowed'],
    ['', 'it gave no report'],
    ['not JSON', 'it gave no report'],
    ['{}', 'it gave no report'],
  ])('counts as unanswered, with the reason, if it is no report: %s', (printed, why) => {
    expect(readAudit(printed, lockfile)).toEqual({ kind: 'unanswered', why });
  });
});
