import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileOf, ran, type Said } from './files.ts';

export const chartFolder = fileOf('deploy/helm/model-gateway');
const valuesFile = fileOf('test/deploy/chart-values.yaml');

/** The chart as helm rendered it, stored so that it can be validated by Kubernetes' schemas without helm. */
export const renderedFile = fileOf('test/deploy/chart-rendered.yaml');

/** `helm template` of the chart with the values of the tests, or another command of helm. */
export const helmTemplate = (
  command: readonly string[] = ['template', 'gw', '--namespace', 'gateway', '--values', valuesFile],
  more: readonly string[] = [],
): Said => ran('helm', [...command, chartFolder, ...more]);

/** The SHA-256 of every file that the rendering depends on. */
export function chartDigest(): string {
  const files = readdirSync(chartFolder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => path.join(each.parentPath, each.name));
  const hash = createHash('sha256');
  for (const file of [...files, valuesFile].toSorted())
    hash.update(path.relative(chartFolder, file)).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex');
}
