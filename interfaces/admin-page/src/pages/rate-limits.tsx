import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="rate-limits">
    <p>Under construction.</p>
  </Frame>
);
