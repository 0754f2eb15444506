import type { GatewayConfig } from '../../infrastructure/config/config.ts';
import type { Variables } from '../../infrastructure/config/interpolation.ts';
import { parseConfig } from '../../infrastructure/config/load.ts';
import type { ConfigProblem } from '../../infrastructure/config/problem.ts';

export const aKey = `gwk_public00.${'s'.repeat(32)}`;

export function problemsOf(text: string, variables: Variables = {}): readonly ConfigProblem[] {
  const loaded = parseConfig(text, variables);
  return loaded._tag === 'Left' ? loaded.left : [];
}

export function configOf(text: string, variables: Variables = {}): GatewayConfig {
  const loaded = parseConfig(text, variables);
  if (loaded._tag === 'Left') throw new Error(JSON.stringify(loaded.left, null, 2));
  return loaded.right.config;
}

export const provider = (more: string) =>
  `providers:\n  - id: p\n    type: compat\n    base_url: http://h/v1\n${more}`;
export const route = (more: string, providerLines = '') =>
  `${provider(providerLines)}models:\n  - id: m\n    routes:\n      - provider: p\n        upstream_model: u\n${more}`;
