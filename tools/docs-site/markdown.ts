import { Marked, type Token, type Tokens } from 'marked';

/** A heading of a page. */
export interface Heading {
  readonly depth: number;
  readonly text: string;
  /** The anchor that links use, made as GitHub makes it. */
  readonly slug: string;
}

/** The anchors that a page offers and the links that it contains. */
export interface Outline {
  readonly headings: readonly Heading[];
  /** In order, images included. */
  readonly links: readonly string[];
}

const reader = new Marked();

/** The headings and links of a page. Code is ignored. */
export function outlineOf(markdown: string): Outline {
  const texts: { readonly depth: number; readonly text: string }[] = [];
  const links: string[] = [];
  const tokens = reader.lexer(markdown);
  void reader.walkTokens(tokens, (token) => {
    if (token.type === 'heading') texts.push({ depth: token['depth'], text: plainText(token) });
    if (token.type === 'link' || token.type === 'image') links.push(String(token['href']));
  });
  return { headings: withSlugs(texts), links };
}

/** The page as HTML. `hrefOf` maps each of its links to a place in the site. */
export function htmlOf(markdown: string, hrefOf: (link: string) => string): string {
  const { headings } = outlineOf(markdown);
  let at = 0;
  const renderer = new Marked({
    walkTokens: (token) => {
      if (token.type === 'link' || token.type === 'image') token['href'] = hrefOf(String(token['href']));
    },
    renderer: {
      heading({ tokens, depth }) {
        const slug = headings[at]?.slug ?? '';
        at += 1;
        const name = escaped(`Link to: ${headings[at - 1]?.text ?? ''}`);
        const here = `<a class="here" href="#${slug}" aria-label="${name}">#</a>`;
        return `<h${depth} id="${slug}">${this.parser.parseInline(tokens)} ${here}</h${depth}>\n`;
      },
    },
  });
  // Content wider than the window scrolls by itself, with the keyboard too.
  return renderer
    .parse(markdown, { async: false })
    .replaceAll('<table>', '<div class="wide" tabindex="0" role="group" aria-label="Table"><table>')
    .replaceAll('</table>', '</table></div>')
    .replaceAll('<pre>', '<pre tabindex="0">');
}

function withSlugs(texts: readonly Omit<Heading, 'slug'>[]): readonly Heading[] {
  const seen = new Map<string, number>();
  return texts.map((heading) => {
    const slug = slugOf(heading.text);
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    return { ...heading, slug: times === 0 ? slug : `${slug}-${times}` };
  });
}

const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replaceAll(' ', '-');

/** The text of a token without its markup. */
function plainText(token: Token): string {
  const { tokens } = token as Partial<Tokens.Generic>;
  if (tokens !== undefined && tokens.length > 0) return tokens.map(plainText).join('');
  return 'text' in token ? unescaped(String(token['text'])) : '';
}

/** Escaped for HTML, attributes included. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

/** Marked escapes the text of some tokens already. */
const unescaped = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
