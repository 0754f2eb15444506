import { Page as Frame } from '../ui/page.tsx';

export const Page = () => (
  <Frame title="audit">
    <p>Under construction.</p>
  </Frame>
);
