import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="mcp-invocations">
    <p>Under construction.</p>
  </Frame>
);
