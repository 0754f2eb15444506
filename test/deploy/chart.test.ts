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

/** The model of each kind, which holds an object against Kubernetes' own schema. */
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
const objects = parseAllDocuments(rendered)
  .map((document): Json => document.toJS() as Json)
  .filter(isObject);
const values = parse(textOf('test/deploy/chart-values.yaml')) as JsonObject;

/** What stands at a path; a defect of the chart where nothing does. */
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

describe('the chart as it was rendered', () => {
  it('was rendered from the chart that is here: `npm run chart:render` after a change', () => {
    expect(rendered).toContain(`# Chart: ${chartDigest()}\n`);
  });

  itWith('helm', 'is what helm renders', () => {
    const { code, out, err } = helmTemplate();
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(rendered.endsWith(out)).toBe(true);
  });

  itWith('helm', 'passes helm’s own lint', () => {
    expect(helmTemplate(['lint', '--strict', '--values', fileOf('test/deploy/chart-values.yaml')]).code).toBe(
      0,
    );
  });

  itWith(
    'helm',
    'is refused without a Secret, without a configuration, and with keys that are not known',
    () => {
      for (const wrong of ['secretName=', 'config=null', 'replica=3', 'config.server.bind=1.2.3.4:80'])
        expect(helmTemplate(undefined, ['--set', wrong]).code).not.toBe(0);
    },
  );

  it('holds what Kubernetes takes, kind by kind', () => {
    expect(new Set(objects.map((each) => each['kind']))).toEqual(new Set(Object.keys(models)));
    for (const object of objects) {
      const Model = Object.entries(models).find(([kind]) => kind === object['kind'])?.[1];
      expect(() => new (Model as typeof Service)(object as object).validate()).not.toThrow();
    }
    const wrong = structuredClone(only('StatefulSet')) as { spec: { replicas?: string } };
    wrong.spec.replicas = 'three';
    expect(() => new StatefulSet(wrong as object).validate()).toThrow('replicas');
  });

  it('gives the gateway the configuration, which is one, and the Secret', () => {
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

  it('lets a pod drain: the pause, the grace of the configuration, and 25 seconds', () => {
    const pause = Number(at(pod, 'containers', 0, 'lifecycle', 'preStop', 'sleep', 'seconds'));
    const grace = Number(at(values, 'config', 'server', 'shutdown_grace_secs'));
    expect(at(pod, 'terminationGracePeriodSeconds')).toBe(pause + grace + 25);
    expect(at(pod, 'containers', 0, 'readinessProbe', 'httpGet', 'path')).toBe('/readyz');
    // The database is no reason to start a pod again.
    expect(at(pod, 'containers', 0, 'livenessProbe', 'httpGet', 'path')).toBe('/healthz');
  });

  it('migrates before the pods of a release start, which do not', () => {
    const job = only('Job', 'gw-model-gateway-migration');
    expect(at(job, 'metadata', 'annotations', 'helm.sh/hook')).toBe('pre-install,pre-upgrade');
    expect(at(migration, 'containers', 0, 'args')).toEqual(['migrate']);
    expect(at(pod, 'containers', 0, 'args')).toEqual(['serve', '--no-migrate', '--workers', '2']);
  });

  it('runs as nobody, on a file system that cannot be written', () => {
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

  it('selects its own pods with each of its parts, and the migration’s with none', () => {
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

  it('lets pods get the credentials of their cloud, by IPv6 too, and nothing else at link-local addresses', () => {
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

  it('lets the migration go where the pods may, before it starts, and nobody to it', () => {
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

  it('scales by requests in flight, and leaves the number of pods to that', () => {
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
  it('are that of the release', () => {
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

  it('are described, each of them', () => {
    expect(isValid({ ...defaults, ...given })).toBe(true);
    expect(isValid(defaults)).toBe(false);
    expect(isValid({ ...defaults, ...given, unknown: 1 })).toBe(false);
  });

  it.each([
    ['a listener, which the image sets', { server: { bind: '127.0.0.1:1' } }],
    ['workers, which are a value of their own', { server: { workers: 3 } }],
    ['the database’s URL, which is in the Secret', { database: { url: 'postgresql://a:b@c/d' } }],
  ])('do not take in the configuration %s', (_, config) => {
    expect(isValid({ ...defaults, ...given, config })).toBe(false);
  });
});
