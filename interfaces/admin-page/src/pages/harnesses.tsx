import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="harnesses">
    <p>Under construction.</p>
  </Frame>
);
