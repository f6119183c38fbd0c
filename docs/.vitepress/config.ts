/** The site: `npm run docs` builds it, `npm run docs:dev` serves it while you write. Dead links fail the build. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig } from 'vitepress'
import { inlineCharts } from './charts.ts'
import { renderDiagrams } from './diagrams.ts'
import { sidebar } from './sidebar.ts'

export default defineConfig({
  title: 'Skiff',
  description: 'A Kubernetes-style control plane that comes out of npm.',
  cleanUrls: true,
  markdown: {
    config(markdown) {
      renderDiagrams(markdown)
      inlineCharts(markdown)
    },
  },
  /** Publishes the JSON Schemas at /reference/scenario.schema.json and the like, where `docs:dev` serves them too. */
  buildEnd({ srcDir, outDir }) {
    for (const name of ['lesson', 'scenario']) {
      const schema = `reference/${name}.schema.json`
      copyFileSync(join(srcDir, schema), join(outDir, schema))
    }
  },
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
