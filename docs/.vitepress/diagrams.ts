/** Diagrams: a block of Mermaid becomes an SVG when the site is built. Code hosts draw the same block themselves. */
import { renderMermaidSVG } from 'beautiful-mermaid'
import type { MarkdownRenderer } from 'vitepress'

/** Colours of the theme, so that a diagram follows its light and dark form. */
const colors = {
  bg: 'var(--vp-c-bg)',
  fg: 'var(--vp-c-text-1)',
  accent: 'var(--vp-c-brand-1)',
  transparent: true,
}

/** The SVG of a diagram. Without the renderer's style, which fetches a font: `theme/site.css` replaces it. */
export function drawDiagram(source: string): string {
  return renderMermaidSVG(source, colors).replaceAll(/<style>[^]*?<\/style>/g, '')
}

/** Replaces the renderer of fences for the language `mermaid`. */
export function renderDiagrams(markdown: MarkdownRenderer): void {
  const renderFence = markdown.renderer.rules.fence
  markdown.renderer.rules.fence = (tokens, index, ...rest) => {
    const token = tokens[index]
    if (token?.info.trim() !== 'mermaid') return renderFence?.(tokens, index, ...rest) ?? ''
    return `<figure class="diagram" v-pre>${drawDiagram(token.content)}</figure>\n`
  }
}
