import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import * as E from 'fp-ts/lib/Either.js';
import { parse } from 'yaml';
import { lintConfig } from '../../infrastructure/config/lint.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { plainHosts } from '../../infrastructure/postgres/hosts.ts';
import { makeTestFolder } from '../support/test-server.ts';
import { fileOf, ran, textOf } from './files.ts';
import { itWith } from './it-with.ts';

interface Service {
  readonly image?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly read_only?: boolean;
  readonly stop_grace_period?: string;
  readonly logging?: { readonly driver: string };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const text = textOf('deploy/compose.yaml');
const compose = parse(text, { merge: true }) as Compose;
const services = Object.entries(compose.services);
const gateways = services.filter(([name]) => name.startsWith('gateway-'));
const secrets = { GATEWAY_KEY: `gwk_${'0'.repeat(32)}.${'1'.repeat(64)}` };
const loaded = parseConfig(textOf('deploy/compose/gateway.yaml'), secrets);

describe('deploy/compose.yaml', () => {
  it('mounts existing files and declared volumes only, and every declared volume', () => {
    const mounts = services.flatMap(([, { volumes = [] }]) =>
      volumes.map((each) => each.split(':')[0] ?? ''),
    );
    expect(mounts.length).toBeGreaterThan(8);
    const missing = mounts.filter((from) =>
      from.startsWith('.') ? !existsSync(fileOf(`deploy/${from}`)) : !Object.hasOwn(compose.volumes, from),
    );
    expect(missing).toEqual([]);
    expect(Object.keys(compose.volumes).filter((name) => !mounts.includes(name))).toEqual([]);
  });

  it('has `depends_on` entries for other existing services only', () => {
    for (const [name, { depends_on: others = [] }] of services) {
      const names = Array.isArray(others) ? (others as readonly string[]) : Object.keys(others);
      expect(names.filter((each) => each === name || !Object.hasOwn(compose.services, each))).toEqual([]);
    }
  });

  it('publishes its ports on 127.0.0.1 only, each once', () => {
    const ports = services.flatMap(([, { ports: all = [] }]) => all);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    expect(new Set(ports).size).toBe(ports.length);
  });

  it('contains no secret: secrets are environment variables, and a missing variable is an error', () => {
    const names = [...text.matchAll(/\$\{(\w+)(:\?[^}]*)?\}/g)];
    expect(names.filter(([, , told]) => told === undefined)).toEqual([]);
    for (const [, { environment = {} }] of services)
      for (const [name, value] of Object.entries(environment))
        if (/PASSWORD|KEY|URL/.test(name)) expect(value).toContain('${');
  });

  it('pins the version of each image except its own', () => {
    for (const [, { image = '' }] of services)
      expect(image).toMatch(/^(?:model-gateway|[a-z/-]+:v?\d[\w.-]*)$/);
  });

  it('runs two gateways with separate journals on a read-only file system', () => {
    expect(gateways).toHaveLength(2);
    const journals = gateways.map(([, { volumes }]) =>
      volumes?.find((each) => each.endsWith(':/var/lib/model-gateway')),
    );
    expect(new Set(journals).size).toBe(2);
    for (const [, { read_only: readOnly }] of gateways) expect(readOnly).toBe(true);
  });

  it('has a stop grace period of the configured grace plus 25 seconds for each gateway', () => {
    const grace = E.isRight(loaded) ? loaded.right.config.server.shutdownGraceSecs : Number.NaN;
    for (const [, { stop_grace_period: period }] of gateways) expect(period).toBe(`${grace + 25}s`);
  });

  it('uses the rotating logging driver `local` for each gateway', () => {
    for (const [, { logging }] of gateways) expect(logging).toEqual({ driver: 'local' });
  });

  it('addresses only existing services in its configuration files; collector and upstream listen on fixed ports', () => {
    const config = textOf('deploy/compose/gateway.yaml');
    const hosts = [
      ...config.matchAll(/http:\/\/([\w-]+):\d+/g),
      ...textOf('deploy/telemetry/prometheus.yaml').matchAll(/\[([\w-]+):\d+\]/g),
      ...textOf('deploy/compose/grafana/datasource.yaml').matchAll(/http:\/\/([\w-]+):\d+/g),
      ...textOf('deploy/compose/haproxy.cfg').matchAll(/^ {2}server [\w-]+ ([\w-]+):8080$/gm),
    ].map(([, host]) => host ?? '');
    const own = new Set(['127.0.0.1', '127']);
    expect(hosts.filter((host) => !own.has(host) && !Object.hasOwn(compose.services, host))).toEqual([]);
    for (const [name] of gateways) expect(hosts).toContain(name);
    expect(textOf('deploy/telemetry/collector.yaml')).toContain('endpoint: 0.0.0.0:4318');
    expect(compose.services['upstream']?.command).toEqual([
      'simulate-upstream',
      '--host',
      '0.0.0.0',
      '--port',
      '9000',
    ]);
  });

  it('has a valid gateway configuration without lint warnings', () => {
    if (E.isLeft(loaded)) throw new Error(JSON.stringify(loaded.left));
    const warnings = lintConfig(loaded.right, {
      hasPrice: () => true,
      canServe: () => true,
      plainHosts,
    });
    expect(warnings).toEqual([]);
  });

  it('has a balancer that replaces `X-Forwarded-For`, since the gateways trust the networks of its clients', () => {
    const lines = textOf('deploy/compose/haproxy.cfg')
      .split('\n')
      .map((line) => line.trim());
    expect(lines).toContain('http-request set-header X-Forwarded-For %[src]');
    expect(lines).not.toContain('option forwardfor');
  });

  it('has a balancer that holds back no piece of a stream, and ends the requests of callers that have left', () => {
    const lines = textOf('deploy/compose/haproxy.cfg').split('\n');
    expect(lines).toEqual(expect.arrayContaining(['  option http-no-delay', '  option abortonclose']));
  });

  itWith('haproxy', 'has a balancer configuration that `haproxy -c` accepts without warnings', async () => {
    const file = path.join(await makeTestFolder('compose'), 'haproxy.cfg');
    await writeFile(file, textOf('deploy/compose/haproxy.cfg'));
    const { code, err } = ran('haproxy', ['-c', '-f', file]);
    expect({ code, alerts: err.match(/\[(?:ALERT|WARNING)\].*/g) }).toEqual({ code: 0, alerts: null });
  });
});
