import { it } from '@jest/globals';
import { describeMessages } from './platform-anthropic.ts';
import { endpointbMessages, invoked, platformBScene, runtimeChat, unified } from './platform-b-scene.ts';

const { scenario } = platformBScene();

describeMessages(scenario, unified);
describeMessages(scenario, invoked);
describeMessages(scenario, endpointbMessages);
describeMessages(scenario, runtimeChat);

it('no key or token is stored in any table or log line', () => scenario.expectNoSecretKept());
