/** The site: `npm run docs` builds it, `npm run docs:dev` serves it while you write. Dead links fail the build. */
import { defineConfig } from 'vitepress'
import { renderDiagrams } from './diagrams.ts'
import { sidebar } from './sidebar.ts'

export default defineConfig({
  title: 'Skiff',
  description: 'A Kubernetes-style control plane that comes out of npm.',
  cleanUrls: true,
  // Two folders with an index of their own, which may be absent from a checkout.
  markdown: { config: renderDiagrams },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Get started', link: '/start' },
      { text: 'Tutorials', link: '/tutorials/operator' },
      { text: 'How to', link: '/how-to/ci' },
      { text: 'Reference', link: '/cli' },
      { text: 'Compare', link: '/compare' },
    ],
    sidebar: sidebar.map(({ text, items }) => ({ text, items: [...items] })),
    footer: { message: 'Apache-2.0' },
  },
})
