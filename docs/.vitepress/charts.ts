/** Charts: an image from `charts/` stands in the page as SVG, in the colours of the theme. Code hosts show the file itself. */
import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

const folder = join(import.meta.dirname, '..', 'charts')

/** Replaces the renderer of images for those in `charts/`. `theme/site.css` has the colours. */
export function inlineCharts(markdown: MarkdownRenderer): void {
  const renderImage = markdown.renderer.rules.image
  markdown.renderer.rules.image = (tokens, index, ...rest) => {
    const source = tokens[index]?.attrGet('src') ?? ''
    if (!/^(\.\/)?charts\/[\w-]+\.svg$/.test(source)) {
      return renderImage?.(tokens, index, ...rest) ?? ''
    }
    const svg = readFileSync(join(folder, basename(source)), 'utf8')
    return `<span class="chart" v-pre>${svg.replace(/<style>[^]*?<\/style>/, '').replaceAll('\n', '')}</span>`
  }
}
