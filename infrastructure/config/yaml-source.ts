import * as E from 'fp-ts/lib/Either.js';
import type { Either } from 'fp-ts/lib/Either.js';
import { isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { ErrorCode } from 'yaml';
import type { Json } from '../../domain/shared/json.ts';
import { type ConfigProblem, type Finding, type Path, sorted } from './problem.ts';
import { type Tree, toTree } from './yaml-tree.ts';

/** Both numbers are 1-based. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Finds a value or its key. For a path that does not exist, the nearest place that would contain it. */
export type Locate = (path: Path, of: Finding['of']) => Position;

/** A YAML text as JSON, with the positions of its values. */
export interface YamlSource {
  readonly value: Json;
  readonly locate: Locate;
}

/**
 * Parses one YAML document. Numbers under `textKeys` keep their source text. All problems are reported at once, in our
 * own words, because the library's messages may quote the file, and with it a secret.
 */
export function readYaml(
  text: string,
  textKeys: ReadonlySet<string>,
): Either<readonly ConfigProblem[], YamlSource> {
  const lineCounter = new LineCounter();
  const document = parsed(text, lineCounter);
  if (document === undefined) return E.left([{ path: '', line: 1, column: 1, message: tooDeep }]);
  const positionOf = (offset: number): Position => {
    const { line, col } = lineCounter.linePos(offset);
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  };
  const problem = (offset: number, message: string): ConfigProblem => ({
    path: '',
    ...positionOf(offset),
    message,
  });
  const syntax = [...document.errors, ...document.warnings];
  if (syntax.length > 0) return E.left(sorted(syntaxProblems(text, syntax, problem)));
  const root = document.contents;
  if (root === null) return E.right({ value: {}, locate: () => ({ line: 1, column: 1 }) });
  const tree = toTree(root, textKeys);
  const { value, faults } = tree;
  return faults.length > 0
    ? E.left(sorted(faults.map(({ offset, message }) => problem(offset, message))))
    : E.right({
        value: value ?? {},
        locate: (path, of) => positionOf(offsetOf(root, path, of, tree)),
      });
}

/** Everything after an unquoted placeholder is misread, so only problems before it are reported as well. */
function syntaxProblems(
  text: string,
  syntax: readonly { readonly code: ErrorCode; readonly pos: readonly [number, number] }[],
  problem: (offset: number, message: string) => ConfigProblem,
): readonly ConfigProblem[] {
  const unquoted = syntax.find(({ pos }) => text.startsWith('${', pos[0] - 1))?.pos[0];
  const reported = unquoted === undefined ? syntax : syntax.filter(({ pos }) => pos[0] < unquoted);
  return [
    ...reported.map(({ code, pos }) => problem(pos[0], syntaxMessages[code] ?? notYaml)),
    ...(unquoted === undefined ? [] : [problem(unquoted - 1, unquotedPlaceholder)]),
  ];
}

/** `undefined` when the text is nested deeper than the stack of the library, which parses by recursion. */
function parsed(text: string, lineCounter: LineCounter): ReturnType<typeof parseDocument> | undefined {
  try {
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      stringKeys: true,
      // The library's check compares every key with every other; the one in `toTree` does not.
      uniqueKeys: false,
      resolveKnownTags: false,
      // Not 'silent', which would also let a second document pass unnoticed.
      logLevel: 'error',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The offset of the last existing step of a path: that of its key, or of a scalar itself where the value is meant. */
function offsetOf(root: Node, path: Path, of: Finding['of'], tree: Tree): number {
  let node: Node | null = root;
  let offset = startOf(root);
  for (const step of path) {
    const found = stepInto(node, step, tree);
    if (found === undefined) return offset;
    node = found.value;
    offset = found.offset;
  }
  return of === 'value' && isScalar(node) && node.value !== null ? startOf(node) : offset;
}

interface Step {
  readonly value: Node | null;
  readonly offset: number;
}

function stepInto(from: Node | null, step: string | number, { targets, members }: Tree): Step | undefined {
  const node = from === null ? null : (targets.get(from) ?? from);
  if (node === null) return undefined;
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step] as Node | null | undefined;
    return item === undefined ? undefined : { value: item, offset: startOf(item ?? node) };
  }
  const member = members.get(node)?.get(String(step));
  return member === undefined ? undefined : { value: member.value, offset: startOf(member.key) };
}

const startOf = (node: Node): number => node.range?.[0] ?? 0;

const notYaml = 'is not valid YAML';
const tooDeep = 'is nested too deep';
const unquotedPlaceholder = 'has a placeholder without quotes between braces or brackets: write "${NAME}"';

/** Messages for syntax errors, without quoting the text. */
const syntaxMessages: Partial<Record<ErrorCode, string>> = {
  BAD_DIRECTIVE: 'has a directive, which is not supported here',
  BAD_DQ_ESCAPE: 'has an unknown escape in a double-quoted text: use single quotes, or \\\\ for a backslash',
  BAD_INDENT: 'has wrong indentation, or a bracket is not closed',
  BAD_SCALAR_START: 'begins with a character that YAML reserves: put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'has two keys on one line: put a value with a colon in quotes',
  MISSING_CHAR: 'lacks a closing quote, a colon, or a space',
  MULTIPLE_DOCS: 'holds more than one YAML document',
  NON_STRING_KEY: 'this cannot be a key',
  RESOURCE_EXHAUSTION: tooDeep,
  TAB_AS_INDENT: 'is indented with a tab: YAML needs spaces',
  TAG_RESOLVE_FAILED: 'has a YAML tag: plain values only',
  UNEXPECTED_TOKEN: 'has something here that YAML does not expect',
};
