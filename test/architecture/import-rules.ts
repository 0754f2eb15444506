/** Allow-lists of imports: an import that is not listed is rejected. Each rule names the alternative. */
export interface Rule {
  /** The folders or files that the rule applies to; the first rule that matches a file is its rule. */
  readonly of: RegExp;
  /** Project files that they may import, by path from the root; `own` is what the first group of `of` matched. */
  readonly files: readonly (RegExp | ((own: string) => RegExp))[];
  /** Packages and `node:` modules that they may import. */
  readonly packages: readonly RegExp[];
  readonly instead: string;
}

const fpTs = /^fp-ts\/lib\/(?:Either|function)\.js$/;
const node = /^node:/;

/** What every provider folder may import beside its own files. */
const forProviders: Rule['files'] = [
  /^infrastructure\/providers\/(?:wire|auth|chat-style|messages-body)\//,
  /^infrastructure\/providers\/(?:provider|outbound-headers)\.ts$/,
  /^infrastructure\/config\/provider-/,
  /^application\/ports\//,
  /^domain\//,
];

export const rules: readonly Rule[] = [
  {
    of: /^interfaces\/admin-page\/src\//,
    files: [/^interfaces\/admin-page\/src\//],
    packages: [
      /^(?:react|react-dom(?:\/client)?|@tanstack\/react-(?:query|router)|openapi-fetch|recharts|uqr)$/,
    ],
    instead: 'The page is a program of its own: what it knows comes over the API, typed by its description.',
  },
  {
    of: /^interfaces\/admin-page\/build\.ts$/,
    files: [],
    packages: [node, /^vite$/],
    instead: 'The build knows the page and its bundler.',
  },
  {
    of: /^domain\//,
    files: [/^domain\//],
    packages: [fpTs],
    instead: 'The domain is pure: hashes, time and ids come in as arguments.',
  },
  {
    of: /^application\//,
    files: [/^application\//, /^domain\//],
    packages: [fpTs],
    instead: 'Ask for what is needed as a port in application/ports.',
  },
  {
    of: /^infrastructure\/providers\/wire\//,
    files: [/^infrastructure\/providers\/(?:wire\/|provider\.ts$)/, /^domain\//],
    packages: [fpTs, node],
    instead: 'Wire formats know bytes and nothing of providers.',
  },
  {
    of: /^infrastructure\/providers\/(?:exchange|connection-pool)\.ts$/,
    files: [/^infrastructure\/(?:providers|config)\//, /^application\/ports\//, /^domain\//],
    packages: [fpTs, node, /^undici$/],
    instead: 'Beside executor.ts, which calls them, these two files alone talk HTTP to upstreams.',
  },
  {
    of: /^infrastructure\/providers\/(?:[^/]+\.ts$)/,
    files: [
      /^infrastructure\/(?:providers\/|config\/|text-digest\.ts$)/,
      /^application\/ports\//,
      /^domain\//,
    ],
    packages: [fpTs, node],
    instead: 'Upstreams are called through executor.ts; provider folders are reached through registry.ts.',
  },
  {
    of: /^infrastructure\/providers\/(?:messages-body|chat-style)\//,
    files: [
      /^infrastructure\/providers\/(?:messages-body|chat-style|wire)\//,
      /^infrastructure\/providers\/(?:provider|outbound-headers)\.ts$/,
      /^application\/ports\//,
      /^domain\//,
    ],
    packages: [fpTs, node],
    instead: 'What providers share knows none of them.',
  },
  {
    of: /^infrastructure\/providers\/auth\//,
    files: [
      /^infrastructure\/providers\/(?:auth\/|(?:provider|error-code)\.ts$)/,
      /^infrastructure\/(?:config\/provider-|requests-until\.ts$)/,
      /^domain\//,
    ],
    packages: [fpTs, node, /^(?:google-auth-library|@aws-sdk\/(?:credential-provider-node|signature-v4))$/],
    instead: 'Authenticators add credentials to finished requests, and know no dialect.',
  },
  {
    of: /^infrastructure\/providers\/cloud-run-compat\//,
    // It is the compat provider behind ID tokens.
    files: [/^infrastructure\/providers\/(?:cloud-run-compat\/|compat\/index\.ts$)/, ...forProviders],
    packages: [fpTs, node],
    instead: 'Of the other provider folders it shares the compat provider alone.',
  },
  {
    of: /^infrastructure\/providers\/([^/]+)\//,
    files: [(own) => new RegExp(`^infrastructure/providers/${own}/`), ...forProviders],
    packages: [fpTs, node],
    instead: 'A provider folder never imports another provider folder.',
  },
  {
    of: /^infrastructure\/postgres\//,
    files: [
      /^infrastructure\/(?:postgres\/|key-secrets\.ts$)/,
      /^infrastructure\/providers\/live-catalogue\.ts$/,
      /^application\/ports\//,
      /^domain\//,
    ],
    packages: [fpTs, node, /^(?:slonik|pg|io-ts|@standard-schema\/spec)$/],
    instead: 'Stores are functions of the pool; SQL stays here.',
  },
  {
    of: /^infrastructure\/config\//,
    files: [
      /^infrastructure\/(?:config\/|key-secrets\.ts$)/,
      /^application\/(?:ports\/|serve-ports\.ts$)/,
      /^domain\//,
    ],
    packages: [fpTs, node, /^(?:io-ts|yaml)$/],
    instead: 'The configuration is read once; what needs it gets it as an argument.',
  },
  {
    of: /^infrastructure\/export\//,
    files: [
      /^infrastructure\/(?:export\/|config\/export-config\.ts$|requests-until\.ts$)/,
      /^application\/ports\//,
      /^domain\//,
    ],
    packages: [fpTs, node, /^(?:@aws-sdk\/client-s3|hyparquet-writer)$/],
    instead: 'This folder alone knows the object storage and the formats of what is exported.',
  },
  {
    of: /^infrastructure\/(embedded-postgres|pricing|journal)\//,
    files: [(own) => new RegExp(`^infrastructure/${own}/`), /^domain\//],
    packages: [fpTs, node, /^(?:pg|io-ts)$/],
    instead: 'These folders stand on their own.',
  },
  {
    of: /^infrastructure\/mcp\/(?:upstreams|server-auth)\.ts$/,
    files: [
      /^infrastructure\/(?:mcp\/|config\/mcp-config\.ts$|providers\/(?:connect-options|wire\/sse|auth\/(?:renewed|token-service))\.ts$)/,
      /^application\/ports\//,
      /^domain\//,
    ],
    packages: [fpTs, node, /^undici$/],
    instead: 'These two files are the only ones that talk HTTP to MCP servers and their token services.',
  },
  {
    of: /^infrastructure\/mcp\//,
    files: [/^infrastructure\/(?:mcp\/|providers\/decompression\.ts$)/, /^application\/ports\//, /^domain\//],
    packages: [fpTs, node],
    instead: 'MCP servers are called through upstreams.ts.',
  },
  {
    of: /^infrastructure\/mail\//,
    files: [
      /^infrastructure\/(?:mail\/|config\/server-config\.ts$|providers\/connect-options\.ts$)/,
      /^application\/ports\//,
      /^domain\//,
    ],
    packages: [fpTs, node, /^nodemailer$/],
    instead: 'Mail knows its settings and nothing of what it says.',
  },
  {
    of: /^infrastructure\/sign-in\//,
    files: [
      /^infrastructure\/(?:sign-in\/|config\/admin-auth-config\.ts$)/,
      /^application\/ports\//,
      /^domain\//,
    ],
    packages: [fpTs, node, /^(?:openid-client|otpauth|@zxcvbn-ts\/language-common)$/],
    instead: 'This folder alone knows the identity provider and the libraries of signing in.',
  },
  {
    of: /^infrastructure\/telemetry\//,
    files: [
      /^infrastructure\/(?:telemetry\/|config\/(?:server-config|process-variables)\.ts$|(?:logging|release-version|requests-until)\.ts$)/,
      /^application\/ports\//,
      /^domain\//,
    ],
    packages: [fpTs, node, /^@opentelemetry\/[\w-]+$/],
    instead: 'Telemetry is told of requests through its port; this folder alone knows OpenTelemetry.',
  },
  {
    of: /^infrastructure\/large-bodies\//,
    files: [
      /^infrastructure\/(?:large-bodies\/|text-digest\.ts$|config\/provider-config\.ts$)/,
      /^infrastructure\/providers\/(?:executor|registry|sanitiser|written|wire\/bounded-data)\.ts$/,
      /^application\/(?:ports\/|(?:families|model-request|caller-answer)\.ts$)/,
      /^domain\//,
    ],
    packages: [fpTs, node],
    instead: 'The thread does with large bodies what the pipeline does with small ones, and nothing else.',
  },
  {
    of: /^infrastructure\/(?:stop-requests|starter)\.ts$/,
    files: [/^infrastructure\/starter\.ts$/],
    packages: [node],
    instead: 'A supervisor holds nothing that could bring it down.',
  },
  {
    of: /^infrastructure\/purge-worker\.ts$/,
    files: [/^infrastructure\//, /^application\/ports\//, /^domain\//],
    packages: [fpTs, node, /^node-schedule$/],
    instead: 'This file alone knows the scheduler.',
  },
  {
    // The files directly in the folder: a file in a new folder has no rule, and so may import nothing.
    of: /^infrastructure\/[^/]+\.ts$/,
    files: [/^infrastructure\//, /^application\/ports\//, /^domain\//],
    packages: [fpTs, node],
    instead: 'Infrastructure fills ports; it never sees interfaces.',
  },
  {
    of: /^interfaces\/http\//,
    files: [/^interfaces\/http\//, /^application\//, /^domain\//],
    packages: [fpTs, node, /^(?:koa|@koa\/router|io-ts)$/],
    instead: 'The door knows use cases, not stores; container.ts brings them together.',
  },
  {
    of: /^tools\/package\//,
    files: [],
    packages: [node],
    instead: 'What builds the package knows where its parts lie, and none of them.',
  },
  {
    of: /^tools\/docs-site\//,
    files: [/^tools\/docs-site\//],
    packages: [node, /^marked$/],
    instead: 'The site knows the pages, and nothing of the product.',
  },
  {
    of: /^tools\/simulated-upstream\//,
    files: [/^tools\/simulated-upstream\//],
    packages: [fpTs, node],
    instead: 'The simulated upstream is a program of its own that speaks the providers’ protocol.',
  },
  {
    of: /^interfaces\/cli\//,
    files: [
      /^interfaces\//,
      /^application\//,
      /^domain\//,
      /^tools\/simulated-upstream\//,
      /^(?:main|composition\/supervise)\.ts$/,
    ],
    packages: [fpTs, node],
    instead: 'Commands get what they need from composition/commands.ts.',
  },
  {
    of: /^composition\/(?:supervise|process-control|worker-memory)\.ts$/,
    files: [
      /^composition\/(?:process-control|worker-memory)\.ts$/,
      /^infrastructure\/(?:output-errors|stop-requests|config\/process-variables)\.ts$/,
    ],
    packages: [node],
    instead: 'A supervisor holds nothing that could bring it down.',
  },
  {
    of: /^composition\/container\.ts$/,
    files: [/./],
    packages: [/./],
    instead: 'The composition root may import anything.',
  },
  {
    of: /^(?:main\.ts$|composition\/)/,
    files: [/^(?!test\/|bench\/)/],
    packages: [fpTs, node, /^slonik$/],
    instead: 'Only container.ts imports inversify.',
  },
];

/** `process.env` has one reader, so that the configuration is the only source of settings. */
const environmentReader = 'infrastructure/config/process-variables.ts';

/** Globals that the pure layers must not use, since they need no import. */
const impure =
  /\b(?:process\.(?!env)|Date\.now\b|new Date\(\)|Math\.random\b|console\.|performance\.now\b|setTimeout\b|setInterval\b|fetch\()/;

export interface Source {
  /** From the root, with slashes. */
  readonly path: string;
  readonly text: string;
}

const imports =
  /(?:^|[\s;])(?:import|export)\s+(?:type\s+)?(?:[\w*{][^'"`;]*?\sfrom\s*)?['"]([^'"]+)['"]|\bimport\s*\(\s*['"]([^'"]+)['"]\s*\)|\brequire\s*\(\s*['"]([^'"]+)['"]\s*\)/g;

/** One message for each violation in a tree of sources; empty if there is none. */
export const violations = (sources: readonly Source[]): readonly string[] =>
  sources.flatMap((source) => [...importFaults(source), ...reachFaults(source)]);

function importFaults({ path, text }: Source): readonly string[] {
  const rule = rules.find(({ of }) => of.test(path));
  if (rule === undefined) return [`${path}: no rule says what this file may import`];
  const own = rule.of.exec(path)?.[1] ?? '';
  const files = rule.files.map((each) => (typeof each === 'function' ? each(own) : each));
  return importedBy(text).flatMap((specifier) => {
    const local = specifier.startsWith('.');
    const target = local ? resolved(path, specifier) : specifier;
    const allowed = (local ? files : rule.packages).some((each) => each.test(target));
    return allowed ? [] : [`${path} imports ${target}. ${rule.instead}`];
  });
}

function reachFaults({ path, text }: Source): readonly string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');
  const faults: string[] = [];
  if (path !== environmentReader && /\bprocess\.env\b/.test(code))
    faults.push(`${path} reads process.env. Only ${environmentReader} does.`);
  if (/^(?:domain|application)\//.test(path) && impure.test(code))
    faults.push(`${path} reaches for ${impure.exec(code)?.[0]}. Clock, randomness and I/O are ports.`);
  return faults;
}

export const importedBy = (text: string): readonly string[] =>
  [...text.matchAll(imports)].flatMap(([, from, dynamic, required]) => from ?? dynamic ?? required ?? []);

/** The file that a relative import names, by path from the root. */
export function resolved(from: string, specifier: string): string {
  const parts = from.split('/').slice(0, -1);
  for (const step of specifier.split('/')) {
    if (step === '..') parts.pop();
    else if (step !== '.') parts.push(step);
  }
  return parts.join('/');
}
