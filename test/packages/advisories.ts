import { type Lockfile, nameIn } from './lockfile.ts';

/** The entry of one package in the output of `npm audit --json`. */
interface Vulnerable {
  readonly severity: string;
  /** Its own advisories, or the names of the packages that they come from. */
  readonly via: readonly (string | { readonly title?: string; readonly url?: string })[];
  /** The folders that it is in. */
  readonly nodes: readonly string[];
}

/** The result of an audit. */
export type Audit =
  | { readonly kind: 'unanswered'; readonly why: string }
  | { readonly kind: 'answered'; readonly faults: readonly string[]; readonly notes: readonly string[] };

const grave: ReadonlySet<string> = new Set(['high', 'critical']);

/**
 * Reads the output of `npm audit --json`. A high or critical advisory of a package that the service itself
 * runs with is a fault, any other a note. Not every registry supports audits; that is no fault.
 */
export function readAudit(printed: string, lockfile: Lockfile): Audit {
  const report = parsed(printed);
  if (report.vulnerabilities === undefined)
    return { kind: 'unanswered', why: report.message ?? 'it gave no report' };
  const all = Object.entries(report.vulnerabilities).map(([name, vulnerable]) => ({
    sentence: sentenceOf(name, vulnerable),
    fault: grave.has(vulnerable.severity) && vulnerable.nodes.some((folder) => isRun(folder, lockfile)),
  }));
  return {
    kind: 'answered',
    faults: all.filter(({ fault }) => fault).map(({ sentence }) => sentence),
    notes: all.filter(({ fault }) => !fault).map(({ sentence }) => sentence),
  };
}

/** A report, or an error message instead. */
interface Printed {
  readonly vulnerabilities?: Readonly<Record<string, Vulnerable>>;
  readonly message?: string;
}

function parsed(printed: string): Printed {
  const text = printed.trim();
  return text.startsWith('{') && text.endsWith('}') ? (JSON.parse(text) as Printed) : {};
}

const isRun = (folder: string, { packages }: Lockfile): boolean => packages[folder]?.dev !== true;

const sentenceOf = (name: string, { severity, via, nodes }: Vulnerable): string => {
  const reasons = via.map((each) =>
    typeof each === 'string' ? `by ${each}` : [each.title, each.url].filter(Boolean).join(' '),
  );
  const folders = nodes.filter((folder) => nameIn(folder) !== folder).join(', ');
  return `${name} (${severity}): ${reasons.join('; ')} [${folders}]`;
};
