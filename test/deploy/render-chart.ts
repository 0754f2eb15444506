import { writeFile } from 'node:fs/promises';
import { chartDigest, helmTemplate, renderedFile } from './chart.ts';

// `npm run chart:render`, with helm on the path.
const { code, out, err } = helmTemplate();
if (code === 0)
  await writeFile(
    renderedFile,
    `# What \`helm template\` makes of the chart with chart-values.yaml: \`npm run chart:render\`.\n# Chart: ${chartDigest()}\n${out}`,
  );
else process.stderr.write(err);
process.exitCode = code ?? 1;
