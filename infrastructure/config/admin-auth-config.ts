import { displayName, httpUrl, wholeSecret, refuseControls } from './formats.ts';
import { type Fault, list, object, optional, refined, required, withDefault } from './object-codecs.ts';
import { isForeignPlainHttp } from './private-hosts.ts';
import { boolean, text, type TypeOf } from './scalar-codecs.ts';

const scope = text({
  what: 'a scope (printable ASCII without spaces, quotes or backslashes)',
  maxLength: 256,
  pattern: /^[\x21\x23-\x5b\x5d-\x7e]+$/,
});

const claim = text({ what: 'the name of a claim', maxLength: 256 });
const group = text({ what: 'the name or id of a group', maxLength: 256 });

const domain = text({
  what: 'a domain in lower case, such as example.com',
  maxLength: 253,
  pattern: /^[a-z0-9-]+(\.[a-z0-9-]+)+$/,
});

const oidcCodec = refined(
  object({
    issuer: required(
      httpUrl,
      'Issuer URL of the identity provider, exactly as in its ID tokens; `/.well-known/openid-configuration` is appended to it.',
    ),
    client_id: required(
      text({ what: 'a client id', maxLength: 1024, refuse: refuseControls }),
      'Client id of this gateway at the provider.',
    ),
    client_secret: required(
      text({ what: 'a client secret', maxLength: 4096, secret: wholeSecret, refuse: refuseControls }),
      'Client secret, as ${NAME}.',
    ),
    display_name: withDefault(displayName, 'Single sign-on', 'Name of the provider on the sign-in page.'),
    scopes: withDefault(list(scope, 32), ['openid', 'email', 'profile'], 'Scopes to request.'),
    groups_claim: withDefault(claim, 'groups', "Claim that lists a person's groups."),
    admin_groups: withDefault(
      list(group, 256),
      [],
      'Groups whose members are platform admins: each sign-in grants or revokes the role. Unless set, sign-ins do not change roles.',
    ),
    allowed_email_domains: withDefault(
      list(domain, 256),
      [],
      'E-mail domains whose addresses may sign in; any unless set.',
    ),
    create_users: withDefault(
      boolean,
      false,
      'Whether a user is created at the first sign-in of an unknown person.',
    ),
  }),
  ({ issuer, scopes }): readonly Fault[] => [
    ...(isForeignPlainHttp(issuer)
      ? [{ at: ['issuer'], message: 'must be https: it is neither on this machine nor in a private network' }]
      : []),
    ...(scopes.includes('openid')
      ? []
      : [{ at: ['scopes'], message: 'must have `openid`: without it there is no ID token' }]),
  ],
);

export const adminAuthCodec = refined(
  object({
    oidc: optional(oidcCodec, 'Sign-in at an identity provider (OpenID Connect).'),
    password_login: withDefault(boolean, true, 'Whether people may log in by password.'),
    require_second_factor: withDefault(
      boolean,
      false,
      'Whether people who log in by password must enrol an authenticator (TOTP) before anything else.',
    ),
  }),
  ({ oidc, password_login: passwordLogin }) =>
    passwordLogin || oidc !== undefined
      ? []
      : [{ at: ['password_login'], message: 'is false, and there is no oidc: nobody could sign in' }],
);

/** The identity provider. */
export interface OidcConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly displayName: string;
  readonly scopes: readonly string[];
  readonly groupsClaim: string;
  /** When empty, the provider does not decide about roles. */
  readonly adminGroups: readonly string[];
  /** When empty, any domain. */
  readonly allowedEmailDomains: readonly string[];
  readonly createUsers: boolean;
}

/** How people sign in to the admin API. */
export interface AdminAuthConfig {
  readonly oidc: OidcConfig | undefined;
  readonly passwordLogin: boolean;
  readonly requireSecondFactor: boolean;
}

export const toAdminAuth = (wire: TypeOf<typeof adminAuthCodec>): AdminAuthConfig => ({
  oidc: wire.oidc === undefined ? undefined : toOidc(wire.oidc),
  passwordLogin: wire.password_login,
  requireSecondFactor: wire.require_second_factor,
});

const toOidc = (wire: TypeOf<typeof oidcCodec>): OidcConfig => ({
  issuer: wire.issuer,
  clientId: wire.client_id,
  clientSecret: wire.client_secret,
  displayName: wire.display_name,
  scopes: wire.scopes,
  groupsClaim: wire.groups_claim,
  adminGroups: wire.admin_groups,
  allowedEmailDomains: wire.allowed_email_domains,
  createUsers: wire.create_users,
});
