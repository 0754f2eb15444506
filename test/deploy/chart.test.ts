import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import * as E from 'fp-ts/lib/Either.js';
import { StatefulSet } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { Job } from 'kubernetes-models/batch/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service, ServiceAccount } from 'kubernetes-models/v1';
import { parse, parseAllDocuments } from 'yaml';
import { parseConfig } from '../../infrastructure/config/load.ts';
import { isObject, type Json, type JsonObject } from '../../domain/shared/json.ts';
import { chartDigest, chartFolder, helmTemplate, renderedFile } from './chart.ts';
import { fileOf, textOf } from './files.ts';
import { itWith } from './it-with.ts';

/** The model of each kind, which validates an object against the schema of Kubernetes. */
const models = {
  ConfigMap,
  HorizontalPodAutoscaler,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  Service,
  ServiceAccount,
  StatefulSet,
};

const rendered = readFileSync(renderedFile, 'utf8');
const objectsOf = (text: string): JsonObject[] =>
  parseAllDocuments(text)
    .map((document): Json => document.toJS() as Json)
    .filter(isObject);
const objects = objectsOf(rendered);
const values = parse(textOf('test/deploy/chart-values.yaml')) as JsonObject;

/** The value at a path; throws if there is none, since that is a defect of the chart. */
function at(value: Json | undefined, ...path: readonly (string | number)[]): Json {
  let here = value;
  for (const step of path)
    here = Array.isArray(here) ? here[Number(step)] : isObject(here) ? here[step] : undefined;
  if (here === undefined) throw new Error(`there is no ${path.join('.')}`);
  return here;
}

function only(kind: string, name = 'gw-model-gateway'): JsonObject {
  const found = objects.filter((each) => each['kind'] === kind && at(each, 'metadata', 'name') === name);
  expect(found).toHaveLength(1);
  return found[0] ?? {};
}

const pod = at(only('StatefulSet'), 'spec', 'template', 'spec');
const migration = at(only('Job', 'gw-model-gateway-migration'), 'spec', 'template', 'spec');

describe('the rendered chart', () => {
  it('is up to date with the chart: `npm run chart:render` after a change', () => {
    expect(rendered).toContain(`# Chart: ${chartDigest()}\n`);
  });

  itWith('helm', 'is the output of `helm template`', () => {
    const { code, out, err } = helmTemplate();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    // Releases of helm differ in the blank lines between objects.
    expect(objectsOf(out)).toEqual(objects);
  });

  itWith('helm', 'passes `helm lint --strict`', () => {
    expect(helmTemplate(['lint', '--strict', '--values', fileOf('test/deploy/chart-values.yaml')]).code).toBe(
      0,
    );
  });

  itWith(
    'helm',
    'cannot be rendered without a Secret or a configuration, with an unknown value or a listener, or with more replicas at least than at most',
    () => {
      for (const wrong of [
        'secretName=',
        'config=null',
        'replica=3',
        'config.server.bind=1.2.3.4:80',
        'autoscaling.minReplicas=11',
      ])
        expect(helmTemplate(undefined, ['--set', wrong]).code).not.toBe(0);
    },
  );

  // Helm accepts such a release, and Kubernetes no such service.
  itWith('helm', 'has names without dots for a release whose name has some', () => {
    const { out } = helmTemplate(['template', 'my.gw', '--values', fileOf('test/deploy/chart-values.yaml')]);
    const names = objectsOf(out).map((each) => at(each, 'metadata', 'name'));
    expect(new Set(names)).toEqual(
      new Set(['my-gw-model-gateway', 'my-gw-model-gateway-pods', 'my-gw-model-gateway-migration']),
    );
  });

  it('consists of objects that are valid by the Kubernetes schema of their kind', () => {
    expect(new Set(objects.map((each) => each['kind']))).toEqual(new Set(Object.keys(models)));
    for (const object of objects) {
      const Model = Object.entries(models).find(([kind]) => kind === object['kind'])?.[1];
      expect(() => new (Model as typeof Service)(object as object).validate()).not.toThrow();
    }
    const wrong = structuredClone(only('StatefulSet')) as { spec: { replicas?: string } };
    wrong.spec.replicas = 'three';
    expect(() => new StatefulSet(wrong as object).validate()).toThrow('replicas');
  });

  it('has the configuration of the values for gateway and migration, and passes the Secret to both', () => {
    const texts = objects
      .filter((each) => each['kind'] === 'ConfigMap')
      .flatMap((each) => {
        const text = at(each, 'data', 'gateway.yaml');
        return typeof text === 'string' ? [text] : [];
      });
    expect(texts).toHaveLength(2);
    const loaded = parseConfig(texts[0] ?? '', { OPENAI_API_KEY: 'k' });
    expect(E.isRight(loaded)).toBe(true);
    expect(texts[1]).toBe(texts[0]);
    expect(parse(texts[0] ?? '')).toEqual(values['config']);
    for (const spec of [pod, migration])
      expect(at(spec, 'containers', 0, 'envFrom', 0, 'secretRef', 'name')).toBe('model-gateway');
  });

  it('has a termination grace period of preStop pause, configured grace and 25 seconds, and two health probes', () => {
    const pause = Number(at(pod, 'containers', 0, 'lifecycle', 'preStop', 'sleep', 'seconds'));
    const grace = Number(at(values, 'config', 'server', 'shutdown_grace_secs'));
    expect(at(pod, 'terminationGracePeriodSeconds')).toBe(pause + grace + 25);
    expect(at(pod, 'containers', 0, 'readinessProbe', 'httpGet', 'path')).toBe('/readyz');
    // An unavailable database is no reason to restart a pod.
    expect(at(pod, 'containers', 0, 'livenessProbe', 'httpGet', 'path')).toBe('/healthz');
  });

  it('migrates in a hook before install and upgrade, and its pods serve with `--no-migrate`', () => {
    const job = only('Job', 'gw-model-gateway-migration');
    expect(at(job, 'metadata', 'annotations', 'helm.sh/hook')).toBe('pre-install,pre-upgrade');
    expect(at(migration, 'containers', 0, 'args')).toEqual(['migrate']);
    expect(at(pod, 'containers', 0, 'args')).toEqual(['serve', '--no-migrate', '--workers', '2']);
  });

  it('runs as a non-root user without capabilities on a read-only root file system with three mounts', () => {
    for (const spec of [pod, migration]) {
      expect(at(spec, 'securityContext')).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 65_532,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(at(spec, 'containers', 0, 'securityContext')).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(at(spec, 'automountServiceAccountToken')).toBe(false);
    }
    const mounts = at(pod, 'containers', 0, 'volumeMounts') as JsonObject[];
    expect(mounts.map((each) => each['mountPath'])).toEqual([
      '/etc/model-gateway',
      '/tmp',
      '/var/lib/model-gateway',
    ]);
  });

  itWith('helm', 'leaves the user to the cluster where the values say so, as OpenShift demands', () => {
    const unset = ['runAsUser', 'runAsGroup', 'fsGroup'].map((name) => `podUser.${name}=null`);
    const { code, out } = helmTemplate(undefined, ['--set', unset.join(',')]);
    expect(code).toBe(0);
    expect(out).toContain('runAsNonRoot: true');
    expect(out).not.toMatch(/runAsUser|runAsGroup|fsGroup:/);
  });

  it('selects the gateway pods in each selector, and the migration pod in none', () => {
    const labels = at(only('StatefulSet'), 'spec', 'template', 'metadata', 'labels') as JsonObject;
    const selectors = [
      at(only('StatefulSet'), 'spec', 'selector', 'matchLabels'),
      at(only('Service'), 'spec', 'selector'),
      at(only('Service', 'gw-model-gateway-pods'), 'spec', 'selector'),
      at(only('PodDisruptionBudget'), 'spec', 'selector', 'matchLabels'),
      at(only('NetworkPolicy'), 'spec', 'podSelector', 'matchLabels'),
    ];
    const others = at(only('Job', 'gw-model-gateway-migration'), 'spec', 'template', 'metadata', 'labels');
    for (const selector of selectors) {
      expect(labels).toMatchObject(selector as JsonObject);
      expect(others).not.toMatchObject(selector as JsonObject);
    }
    expect(at(only('StatefulSet'), 'spec', 'serviceName')).toBe('gw-model-gateway-pods');
  });

  it('has one egress rule with addresses: cloud credentials on ports 80 and 988, over IPv4 and IPv6', () => {
    const egress = at(only('NetworkPolicy'), 'spec', 'egress') as JsonObject[];
    const [given, ...more] = egress.filter((each) => 'to' in each);
    expect(more).toEqual([]);
    expect(given).toEqual({
      to: [{ ipBlock: { cidr: '169.254.0.0/16' } }, { ipBlock: { cidr: 'fd00:ec2::/64' } }],
      ports: [
        { port: 80, protocol: 'TCP' },
        { port: 988, protocol: 'TCP' },
      ],
    });
  });

  it('allows the migration the egress of the pods and no ingress, by a policy that is created before its job', () => {
    const policy = only('NetworkPolicy', 'gw-model-gateway-migration');
    expect(at(policy, 'spec', 'egress')).toEqual(at(only('NetworkPolicy'), 'spec', 'egress'));
    expect(at(policy, 'spec', 'policyTypes')).toEqual(['Ingress', 'Egress']);
    expect(at(policy, 'spec')).not.toHaveProperty('ingress');
    const job = only('Job', 'gw-model-gateway-migration');
    expect(at(job, 'spec', 'template', 'metadata', 'labels')).toMatchObject(
      at(policy, 'spec', 'podSelector', 'matchLabels') as JsonObject,
    );
    const weightOf = (hook: JsonObject): number =>
      Number(at(hook, 'metadata', 'annotations', 'helm.sh/hook-weight'));
    expect(weightOf(policy)).toBeLessThan(weightOf(job));
  });

  it('scales by `gateway_requests_in_flight`, and its StatefulSet has no fixed number of replicas', () => {
    const { spec } = only('HorizontalPodAutoscaler') as { spec: Json };
    expect(at(spec, 'metrics', 0, 'external', 'metric', 'name')).toBe('gateway_requests_in_flight');
    expect(at(spec, 'scaleTargetRef')).toEqual({
      apiVersion: 'apps/v1',
      kind: 'StatefulSet',
      name: 'gw-model-gateway',
    });
    expect(at(only('StatefulSet'), 'spec')).not.toHaveProperty('replicas');
  });
});

describe('the versions of the chart', () => {
  it('equal the version in package.json', () => {
    const { version } = JSON.parse(textOf('package.json')) as { readonly version: string };
    const chart = parse(readFileSync(`${chartFolder}/Chart.yaml`, 'utf8')) as Json;
    expect([at(chart, 'version'), at(chart, 'appVersion')]).toEqual([version, version]);
  });
});

describe('the values of the chart', () => {
  const isValid = new Ajv({ strictTypes: false }).compile(
    JSON.parse(readFileSync(`${chartFolder}/values.schema.json`, 'utf8')) as object,
  );
  const defaults = parse(readFileSync(`${chartFolder}/values.yaml`, 'utf8')) as JsonObject;
  const given = { secretName: 'secrets', config: { models: [] } };

  it('are valid with a Secret and a configuration, and invalid without them or with an unknown key', () => {
    expect(isValid({ ...defaults, ...given })).toBe(true);
    expect(isValid(defaults)).toBe(false);
    expect(isValid({ ...defaults, ...given, unknown: 1 })).toBe(false);
  });

  it('may leave the user and groups of the pods to the cluster, but not name root', () => {
    const assigned = { runAsUser: null, runAsGroup: null, fsGroup: null };
    expect(isValid({ ...defaults, ...given, podUser: assigned })).toBe(true);
    expect(isValid({ ...defaults, ...given, podUser: { runAsUser: 0 } })).toBe(false);
  });

  it.each([
    ['a listener, which the image sets', { server: { bind: '127.0.0.1:1' } }],
    ['workers, which are a separate value', { server: { workers: 3 } }],
    ['the database’s URL, which is in the Secret', { database: { url: 'postgresql://a:b@c/d' } }],
  ])('are invalid if the configuration has %s', (_, config) => {
    expect(isValid({ ...defaults, ...given, config })).toBe(false);
  });
});
