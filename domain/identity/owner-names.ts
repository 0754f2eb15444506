import { hasAtMostChars } from '../text/characters.ts';

/** Maximum number of characters in the id of a team or service account: a readable name, and a short index key. */
export const maxIdChars = 128;

/** The id of a team or service account; the same in the configuration file and over the API. */
export const idShape = /^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}$/;

/** Maximum number of characters in a name for people. */
export const maxNameChars = 128;

/**
 * Control characters, including the marks that change text direction, which would also affect the text after the name.
 */
const controls = /[\p{Cc}\u202A-\u202E\u2066-\u2069]/u;

/** A visible character: neither a blank nor a mark without width. */
const seen = /[^\s\p{Cf}\p{Default_Ignorable_Code_Point}]/u;

/**
 * A name for people: one line of text that a table can store and that is visible, since pages use it as the text of
 * links.
 */
export const isDisplayName = (text: string): boolean =>
  hasAtMostChars(text, maxNameChars) && text.isWellFormed() && !controls.test(text) && seen.test(text);

/** The roles of a person in a team; owners and admins get its budget alerts. */
export const teamRoles = ['owner', 'admin', 'member'] as const;
export type TeamRole = (typeof teamRoles)[number];

export const userRoles = ['user', 'platform_admin'] as const;
export type UserRole = (typeof userRoles)[number];
