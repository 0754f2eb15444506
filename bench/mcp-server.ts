// An MCP server that answers each call at once, with as little work as possible.
import { createServer } from 'node:http';

const result = {
  content: [{ type: 'text', text: 'The answer, a sentence or two long, as most tools give it.' }],
};

const server = createServer((req, res) => {
  let text = '';
  req.on('data', (piece: Buffer) => (text += piece.toString()));
  req.on('end', () => {
    const { id } = JSON.parse(text) as { readonly id: number };
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(
    `{"url":"http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/mcp"}\n`,
  );
});
