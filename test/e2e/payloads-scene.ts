import { setTimeout as sleep } from 'node:timers/promises';
import { aKey, basicConfig, type ConfigFile } from '../support/gateway.ts';
import { type Answer, type Loose, scene, streamed, whole } from './scene.ts';
import { chat, embeddings, type Talk, talks, wholeStream } from './talk.ts';

export const keys = { quiet: aKey(), account: aKey(), team: aKey(), poor: aKey() };

export interface Way {
  readonly talk: Talk;
  readonly stream: boolean;
}
export const ways: readonly (readonly [name: string, way: Way])[] = [
  ...talks.flatMap((talk): (readonly [string, Way])[] => [
    [`${talk.operation}, non-streamed`, { talk, stream: false }],
    [`${talk.operation}, streamed`, { talk, stream: true }],
  ]),
  ['embeddings', { talk: embeddings, stream: false }],
];

const replayOf = ({ talk, stream }: Way) =>
  stream ? streamed(wholeStream(talk)) : whole(talk.upstream.whole);

export const noted = {
  has_payload: false,
  request_payload_truncated: false,
  response_payload_truncated: false,
};
export const untruncated = { ...noted, has_payload: true };

interface Stored {
  readonly request: Loose;
  readonly response: Loose;
  readonly log: Loose;
}

/** A gateway that stores payloads as the configuration file of a test specifies. */
export function payloadsScene() {
  let upstreamUrl = '';
  let devKey = '';
  const stage = scene((url, key) => {
    upstreamUrl = url;
    devKey = key;
    return config({});
  });

  /** `payloads` is the `request_logging.payloads` section of the file. */
  function config(payloads: object, over: { readonly auth?: object } = {}): ConfigFile {
    return basicConfig(upstreamUrl, devKey, {
      provider: over.auth === undefined ? {} : { auth: over.auth },
      more: {
        models: [
          { id: 'fast', routes: [{ provider: 'up', upstream_model: 'simulated-fast' }] },
          {
            id: 'shimmed',
            routes: [
              {
                provider: 'up',
                upstream_model: 'vendor/other-name',
                compatibility: { compat: { max_tokens_field: 'max_tokens', developer_role: 'system' } },
                extra_headers: { 'x-route': 'route-header' },
                extra_body: { chat_template_kwargs: { enable_thinking: false }, top_k: 77 },
              },
            ],
          },
        ],
        teams: [{ id: 'platform' }],
        service_accounts: [{ id: 'ci', team: 'platform' }],
        users: [
          { email: 'a@example.com' },
          { email: 'quiet@example.com', request_logging_enabled: false },
          { email: 'poor@example.com', budget: { cadence: 'daily', amount_10000: 0, hard_limit: true } },
        ],
        api_keys: [
          { name: 'dev', owner: 'user:a@example.com', value: devKey },
          { name: 'quiet', owner: 'user:quiet@example.com', value: keys.quiet },
          { name: 'poor', owner: 'user:poor@example.com', value: keys.poor },
          { name: 'account', owner: 'service_account:ci', value: keys.account },
          { name: 'team', owner: 'team:platform', value: keys.team },
        ],
        request_logging: { payloads },
      },
    });
  }

  const reload = (payloads: object, over = {}): Promise<void> => stage.gateway().take(config(payloads, over));

  const asked = (way: Way, over: object = {}): Promise<Answer> =>
    stage.ask(way.talk, replayOf(way), { stream: way.stream, ...over });

  /** Waits for the stored payload of a request, because payloads are written after their summary rows. */
  async function kept({ requestId }: Pick<Answer, 'requestId'>): Promise<Stored> {
    for (let tries = 0; tries < 1000; tries += 1) {
      const [row] = await stage.query<Loose>(
        `select l.*, p.request_json, p.response_json from request_logs l
         join request_log_payloads p using (request_log_id, ownership_scope_key) where l.request_id = $1`,
        [requestId],
      );
      if (row !== undefined) {
        const { request_json, response_json, ...log } = row;
        return { request: request_json, response: response_json, log };
      }
      await sleep(20);
    }
    throw new Error('nothing was kept of the request');
  }

  /**
   * Stores the payload of one more request. Payloads are written in the order of their requests, so that no
   * payload of an earlier request can follow.
   */
  async function nothingMoreComes(): Promise<void> {
    await reload({});
    await kept(await asked({ talk: chat, stream: false }));
  }

  const rowsOf = async ({ requestId }: Answer): Promise<readonly Loose[]> =>
    stage.query(
      `select l.*, p.request_log_id is not null as has_row from request_logs l
       left join request_log_payloads p using (request_log_id, ownership_scope_key) where l.request_id = $1`,
      [requestId],
    );

  return { ...stage, config, reload, asked, kept, nothingMoreComes, rowsOf };
}
