import { it } from '@jest/globals';
import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { aKey, basicConfig, spawnGateway } from '../../support/gateway.ts';
import { createDatabase } from '../../support/database.ts';
import { rawExchange } from '../raw-http.ts';
it('x', async () => {
  const db = await createDatabase();
  const target = new URL(db.url); const tp = Number(target.port);
  const open = new Set<Socket>(); let cut = false;
  const server = createServer((socket) => {
    if (cut) return void socket.destroy();
    const other = connect(tp, '127.0.0.1');
    for (const [from, to] of [[socket, other],[other, socket]] as const) { open.add(from); from.on('error', () => undefined); from.once('close', () => { open.delete(from); to.destroy(); }); from.pipe(to); }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  target.port = String((server.address() as any).port);
  const key = aKey();
  const g = await spawnGateway(basicConfig('http://127.0.0.1:9/v1', key), target.href);
  const ask = () => rawExchange(g.url, { path: '/v1/chat/completions', headers: [['authorization', `Bearer ${key}`], ['content-type', 'application/json']], body: '{"model":"nope","messages":[{"role":"user","content":"Hi"}]}' }).then((a) => a.status, (e) => e.message);
  console.log('before', await ask(), await ask());
  cut = true; for (const s of open) s.destroy();
  await sleep(3000);
  console.log('cut', await ask());
  cut = false; await sleep(1500);
  console.log('mended', await ask());
  for (let i = 0; i < 5; i++) { const p = Promise.all(Array.from({length: 20}, ask)); await sleep(5); for (const s of open) s.destroy(); console.log('cut in query', (await p).join(' ')); }
  await sleep(500);
  cut = true; for (const s of open) s.destroy();
  await sleep(200);
  g.child.kill('SIGTERM');
  console.log(await Promise.race([g.exited, sleep(20000, 'no exit')]));
  console.log(g.output());
  g.child.kill('SIGKILL');
  server.close();
});
